"""The paper on VCRoute and WMJitter: its statements, their calls, and their measures."""
