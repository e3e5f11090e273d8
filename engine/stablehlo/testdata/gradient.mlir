module @f_gradient {
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x3xf32>) -> (tensor<f32>, tensor<4x3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = stablehlo.tanh %0 : tensor<8x3xf32>
    %2 = stablehlo.multiply %1, %1 : tensor<8x3xf32>
    %3 = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.constant dense<4.1666668e-02> : tensor<f32>
    %6 = stablehlo.multiply %4, %5 : tensor<f32>
    %7 = stablehlo.constant dense<1.0> : tensor<f32>
    %8 = stablehlo.multiply %7, %5 : tensor<f32>
    %9 = stablehlo.reshape %8 : (tensor<f32>) -> tensor<1x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<8x3xf32>
    %11 = stablehlo.multiply %10, %1 : tensor<8x3xf32>
    %12 = stablehlo.multiply %10, %1 : tensor<8x3xf32>
    %13 = stablehlo.add %11, %12 : tensor<8x3xf32>
    %14 = stablehlo.multiply %1, %1 : tensor<8x3xf32>
    %15 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
    %16 = stablehlo.subtract %15, %14 : tensor<8x3xf32>
    %17 = stablehlo.multiply %13, %16 : tensor<8x3xf32>
    %18 = stablehlo.dot_general %17, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %19 = stablehlo.transpose %18, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %20 = stablehlo.constant dense<1.0e-01> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %22 = stablehlo.multiply %19, %21 : tensor<4x3xf32>
    %23 = stablehlo.subtract %arg1, %22 : tensor<4x3xf32>
    return %6, %23 : tensor<f32>, tensor<4x3xf32>
  }
}
