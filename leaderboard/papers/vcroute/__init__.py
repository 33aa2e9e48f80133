"""The paper on VCRoute and WMJitter: its statements, the calls that they are about, and how each is measured."""
