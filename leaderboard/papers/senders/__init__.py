"""The papers on SBPN (S1) and on GCC over Wi-Fi (S4): their statements judged, and how calls share a bottleneck."""
