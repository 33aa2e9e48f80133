"""Pictures of papers: the numbers of each as it lays them out, with verdict and cause."""
