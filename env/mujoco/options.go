package mujoco

// The options are Gymnasium's, by its names and with its defaults. Those that
// all tasks have alike are in Setup. Settings have no infinity: 1e308 is a bound
// that no number passes.

// Setup is where the library and the models are, and how many threads step.
type Setup struct {
	Python  string `names:"program" doc:"Python interpreter whose packages have the library and the models; empty is that of WEFT_PYTHON, or python3"`
	Library string `names:"program" doc:"libmujoco's file or folder; empty looks at WEFT_MUJOCO, the Python package mujoco and the system, in this order"`
	Models  string `names:"folder" doc:"folder of the model files; empty is that of the Python package gymnasium"`
	Threads int    `default:"0" unit:"threads" range:"[0,)" doc:"threads that step the environments; 0 is one for each processor"`
}

// HalfCheetahOptions are the settings of HalfCheetah-v5.
type HalfCheetahOptions struct {
	XMLFile             string  `key:"xml_file" names:"file" default:"half_cheetah.xml" doc:"model file"`
	FrameSkip           int     `default:"5" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight float64 `default:"1" doc:"reward for a speed of 1"`
	CtrlCostWeight      float64 `default:"0.1" doc:"cost of the squared action"`
	ResetNoiseScale     float64 `default:"0.1" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions    bool    `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	Setup
}

// HopperOptions are the settings of Hopper-v5.
type HopperOptions struct {
	XMLFile                string    `key:"xml_file" names:"file" default:"hopper.xml" doc:"model file"`
	FrameSkip              int       `default:"4" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight    float64   `default:"1" doc:"reward for a speed of 1"`
	CtrlCostWeight         float64   `default:"1e-3" doc:"cost of the squared action"`
	HealthyReward          float64   `default:"1" doc:"reward of a step in which the robot is healthy"`
	TerminateWhenUnhealthy bool      `default:"true" doc:"end the episode when the robot becomes unhealthy"`
	HealthyStateRange      []float64 `default:"-100,100" doc:"bounds of all state variables but the position"`
	HealthyZRange          []float64 `key:"healthy_z_range" default:"0.7,1e308" doc:"bounds of the height of a healthy robot"`
	HealthyAngleRange      []float64 `default:"-0.2,0.2" doc:"bounds of the inclination of a healthy robot"`
	ResetNoiseScale        float64   `default:"5e-3" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions       bool      `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	Setup
}

// Walker2dOptions are the settings of Walker2d-v5.
type Walker2dOptions struct {
	XMLFile                string    `key:"xml_file" names:"file" default:"walker2d_v5.xml" doc:"model file"`
	FrameSkip              int       `default:"4" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight    float64   `default:"1" doc:"reward for a speed of 1"`
	CtrlCostWeight         float64   `default:"1e-3" doc:"cost of the squared action"`
	HealthyReward          float64   `default:"1" doc:"reward of a step in which the robot is healthy"`
	TerminateWhenUnhealthy bool      `default:"true" doc:"end the episode when the robot becomes unhealthy"`
	HealthyZRange          []float64 `key:"healthy_z_range" default:"0.8,2" doc:"bounds of the height of a healthy robot"`
	HealthyAngleRange      []float64 `default:"-1,1" doc:"bounds of the inclination of a healthy robot"`
	ResetNoiseScale        float64   `default:"5e-3" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions       bool      `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	Setup
}

// SwimmerOptions are the settings of Swimmer-v5.
type SwimmerOptions struct {
	XMLFile             string  `key:"xml_file" names:"file" default:"swimmer.xml" doc:"model file"`
	FrameSkip           int     `default:"4" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight float64 `default:"1" doc:"reward for a speed of 1"`
	CtrlCostWeight      float64 `default:"1e-4" doc:"cost of the squared action"`
	ResetNoiseScale     float64 `default:"0.1" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions    bool    `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	Setup
}

// AntOptions are the settings of Ant-v5.
type AntOptions struct {
	XMLFile                string    `key:"xml_file" names:"file" default:"ant.xml" doc:"model file"`
	FrameSkip              int       `default:"5" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight    float64   `default:"1" doc:"reward for a speed of 1"`
	CtrlCostWeight         float64   `default:"0.5" doc:"cost of the squared action"`
	ContactCostWeight      float64   `default:"5e-4" doc:"cost of the squared contact forces"`
	HealthyReward          float64   `default:"1" doc:"reward of a step in which the robot is healthy"`
	MainBody               string    `default:"1" doc:"body whose position is rewarded, by name or number"`
	TerminateWhenUnhealthy bool      `default:"true" doc:"end the episode when the robot becomes unhealthy"`
	HealthyZRange          []float64 `key:"healthy_z_range" default:"0.2,1" doc:"bounds of the height of a healthy robot"`
	ContactForceRange      []float64 `default:"-1,1" doc:"bounds to which contact forces are clipped"`
	ResetNoiseScale        float64   `default:"0.1" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions       bool      `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	IncludeCfrcExt         bool      `key:"include_cfrc_ext_in_observation" default:"true" doc:"observe contact forces"`
	Setup
}

// HumanoidOptions are the settings of Humanoid-v5.
type HumanoidOptions struct {
	XMLFile                string    `key:"xml_file" names:"file" default:"humanoid.xml" doc:"model file"`
	FrameSkip              int       `default:"5" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ForwardRewardWeight    float64   `default:"1.25" doc:"reward for a speed of 1"`
	CtrlCostWeight         float64   `default:"0.1" doc:"cost of the squared action"`
	ContactCostWeight      float64   `default:"5e-7" doc:"cost of the squared contact forces"`
	ContactCostRange       []float64 `default:"-1e308,10" doc:"bounds to which this cost is clipped"`
	HealthyReward          float64   `default:"5" doc:"reward of a step in which the robot is healthy"`
	TerminateWhenUnhealthy bool      `default:"true" doc:"end the episode when the robot becomes unhealthy"`
	HealthyZRange          []float64 `key:"healthy_z_range" default:"1,2" doc:"bounds of the height of a healthy robot"`
	ResetNoiseScale        float64   `default:"1e-2" range:"[0,)" doc:"scale of the noise of the first state"`
	ExcludePositions       bool      `key:"exclude_current_positions_from_observation" default:"true" doc:"leave the position out of observations"`
	IncludeCinert          bool      `key:"include_cinert_in_observation" default:"true" doc:"observe inertia and mass of the bodies"`
	IncludeCvel            bool      `key:"include_cvel_in_observation" default:"true" doc:"observe velocities of the bodies"`
	IncludeQfrcActuator    bool      `key:"include_qfrc_actuator_in_observation" default:"true" doc:"observe forces of the actuators"`
	IncludeCfrcExt         bool      `key:"include_cfrc_ext_in_observation" default:"true" doc:"observe contact forces"`
	Setup
}

// InvertedPendulumOptions are the settings of InvertedPendulum-v5.
type InvertedPendulumOptions struct {
	XMLFile         string  `key:"xml_file" names:"file" default:"inverted_pendulum.xml" doc:"model file"`
	FrameSkip       int     `default:"2" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	ResetNoiseScale float64 `default:"0.01" range:"[0,)" doc:"scale of the noise of the first state"`
	Setup
}

// InvertedDoublePendulumOptions are the settings of InvertedDoublePendulum-v5.
type InvertedDoublePendulumOptions struct {
	XMLFile         string  `key:"xml_file" names:"file" default:"inverted_double_pendulum.xml" doc:"model file"`
	FrameSkip       int     `default:"5" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	HealthyReward   float64 `default:"10" doc:"reward of a step upright"`
	ResetNoiseScale float64 `default:"0.1" range:"[0,)" doc:"scale of the noise of the first state"`
	Setup
}

// ReacherOptions are the settings of Reacher-v5.
type ReacherOptions struct {
	XMLFile             string  `key:"xml_file" names:"file" default:"reacher.xml" doc:"model file"`
	FrameSkip           int     `default:"2" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	RewardDistWeight    float64 `default:"1" doc:"cost of the distance from the target"`
	RewardControlWeight float64 `default:"1" doc:"cost of the squared action"`
	Setup
}

// PusherOptions are the settings of Pusher-v5.
type PusherOptions struct {
	XMLFile             string  `key:"xml_file" names:"file" default:"pusher_v5.xml" doc:"model file"`
	FrameSkip           int     `default:"5" unit:"substeps" range:"[1,)" doc:"substeps of the simulation in a step"`
	RewardNearWeight    float64 `default:"0.5" doc:"cost of the hand's distance from the object"`
	RewardDistWeight    float64 `default:"1" doc:"cost of the object's distance from the goal"`
	RewardControlWeight float64 `default:"0.1" doc:"cost of the squared action"`
	Setup
}
