from vcgym.baselines.controls.former import find_former_folders

find_former_folders()
