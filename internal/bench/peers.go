package bench

// enginePeers lists the peers that run workloads.
var enginePeers = []peer{
	{"torch", "torch_engine.py", "pip install torch", []way{{"eager", 0}, {onThreads(1), 1}, {onThreads(2), 2}}},
	{"jax", "jax_engine.py", "pip install jax", []way{{"jit", 0}}},
}

// envPeers lists the peers that step environments.
var envPeers = []peer{
	{"gymnasium", "gymnasium_env.py", "pip install gymnasium", []way{{"single", 0}, {"sync", 0}, {"async", 0}}},
	{"envpool", "envpool_env.py", "pip install envpool", []way{{"sync", 0}}},
}

// ppoPeers lists the peers that train PPO.
var ppoPeers = []peer{
	{"jax", "jax_ppo.py", "pip install jax", []way{{"jit", 0}}},
	{"rlox", "rlox_ppo.py", "pip install rlox torch gymnasium", []way{{"train", 0}}},
	{"torch", "torch_ppo.py", "pip install torch gymnasium", []way{{"eager", 0}}},
	{"sb3", "sb3_ppo.py", "pip install stable-baselines3", []way{{"learn", 0}}},
}

// offPolicyPeers lists the peers that train from tables.
var offPolicyPeers = []peer{
	{"sbx", "sbx_offpolicy.py", "pip install sbx-rl 'gymnasium[mujoco]'", []way{{"learn", 0}}},
	{"sb3", "sb3_offpolicy.py", "pip install stable-baselines3 'gymnasium[mujoco]'", []way{{"learn", 0}}},
	{"torch", "torch_offpolicy.py", "pip install torch 'gymnasium[mujoco]'", []way{{"eager", 0}}},
}

// policyPeers lists the peers that train with workers of their own.
var policyPeers = []peer{
	{"sb3", "sb3_ppo.py", "pip install stable-baselines3", []way{{"learn", 0}}},
	{"rllib", "rllib_ppo.py", "pip install 'ray[rllib]' torch", []way{{"train", 0}}},
}

// rayPeers lists the peers that train on a Ray cluster.
var rayPeers = []peer{
	{"rllib", "rllib_ppo.py", "pip install 'ray[rllib]' torch", []way{{"train", 0}}},
}

// gpuPeers lists the peers that train on a device.
var gpuPeers = []peer{
	{"jax", "jax_ppo.py", "pip install 'jax[cuda13]'", []way{{"jit", 0}, {"unrolled", 0}, {"strided", 0}, {"merged", 0}}},
}

// gpuOffPolicyPeers lists the peers that train from tables on a device.
var gpuOffPolicyPeers = []peer{
	{"jax", "jax_offpolicy.py", "pip install 'jax[cuda13]'", []way{{"jit", 0}, {"unrolled", 0}, {"merged", 0}}},
}
