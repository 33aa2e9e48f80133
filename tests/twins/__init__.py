"""Slow, obvious or independent counterparts of kernels that several tests share."""
