"""The application study (S3): profiles of Zoom, Meet and Teams in the study's set-ups, and verdicts on its statements."""
