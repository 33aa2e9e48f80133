"""The papers on SBPN (S1) and on GCC over Wi-Fi (S4): verdicts on their statements, and fairness at a shared bottleneck."""
