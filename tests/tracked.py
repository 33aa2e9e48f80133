"""What a study left in MLflow: its runs, and the answers of its models in a process of their own."""

import json

from typed import output_of

from vcgym.agents.tracking.tracking import EXPERIMENT, Tracking

ASK = """
import json, sys
import mlflow, numpy, pandas
mlflow.set_tracking_uri(sys.argv[1])
model, given = mlflow.pyfunc.load_model(sys.argv[2]), json.loads(sys.argv[3])
seen = numpy.array(given, numpy.float32) if isinstance(given, list) else pandas.DataFrame(given) if given else model.input_example
found = model.predict(seen)
print(json.dumps({name: one.tolist() for name, one in found.items()} if isinstance(found, dict) else found.tolist()))
"""


def runs_of(home, database="outputs/mlflow.db"):
    """The client of a database in the folder `home`, and all runs there."""
    client = Tracking(f"sqlite:///{home}/{database}").client
    return client, client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])


def answer_of(uri, model, given=None):
    """What the champion of a registered model says: of rows, of columns by name, or of the example that it was logged with."""
    return json.loads(output_of(ASK, uri, f"models:/{model}@champion", json.dumps(given)).splitlines()[-1])
