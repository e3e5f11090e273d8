"""An ONNX model behind FastAPI: what a user of onnxruntime would write. Called with the model's file; prints its address."""
import sys

try:
    import fastapi
    import numpy
    import onnxruntime
    import uvicorn
except ImportError as error:
    print("absent: %s" % error, flush=True)
    sys.exit(0)

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1  # a row is too little for more
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
app = fastapi.FastAPI()


@app.post("/v1/act")
async def act(request: fastapi.Request):
    obs = numpy.asarray([(await request.json())["obs"]], numpy.float32)
    (action,) = session.run(["action"], {"obs": obs})
    return {"action": action[0].tolist()}


class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("ready %s %s %d" % (fastapi.__version__, onnxruntime.__version__, self.servers[0].sockets[0].getsockname()[1]), flush=True)


Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False)).run()
