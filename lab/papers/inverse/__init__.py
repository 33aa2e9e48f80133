"""Inverse reproduction of the VCRoute paper: the worlds, accountings and readings under which its numbers would hold."""
