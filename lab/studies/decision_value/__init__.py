"""Value of prediction to routing: VCRoute with each predictor inside calls, compared with the best possible information."""
