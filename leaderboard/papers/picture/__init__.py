"""One picture per paper: its numbers as the paper lays them out, each with its verdict and cause."""
