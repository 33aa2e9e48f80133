"""The application study (S3): Zoom, Meet and Teams by their profiles in the study's set-ups, its statements judged."""
