import mlflow

mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", "weft"))  # before it is ready: a new database is made by one client
all = events()
run = next(all)
with mlflow.start_run(run_name=run["name"]):
    mlflow.set_tag("weft.folder", run["dir"])
    if run.get("group"):
        mlflow.set_tag("weft.seeds", run["group"])
    settings = list(run["settings"].items())
    for i in range(0, len(settings), 100):  # which is as many as it takes at once
        mlflow.log_params({k.replace("?", "/"): v for k, v in settings[i : i + 100]})
    for step, found in all:
        mlflow.log_metrics({k: float(v) for k, v in found.items()}, step=step)
