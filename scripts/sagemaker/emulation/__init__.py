"""Runs jobs on this machine as SageMaker does."""
