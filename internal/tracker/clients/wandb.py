import wandb

all = events()
run = next(all)
if not os.environ.get("WANDB_API_KEY") and not os.environ.get("WANDB_MODE"):
    os.environ["WANDB_MODE"] = "offline"  # wandb sync uploads it later
w = wandb.init(project=os.environ.get("WANDB_PROJECT", "weft"), name=run["name"], group=run.get("group") or None, dir=run["dir"], config=run["settings"], resume="allow", id=run["id"])
for step, found in all:
    w.log(dict(found, step=step), step=step)
w.finish()
