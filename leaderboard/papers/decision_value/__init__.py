"""Value of prediction to routing: VCRoute with each predictor inside calls, against what it could know at best."""
