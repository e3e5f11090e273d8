module @f_pick {
  func.func public @main(%arg0: tensor<5x4xf32>, %arg1: tensor<2x1xi32>) -> (tensor<5xi32>, tensor<2x4xf32>, tensor<1x2x2x1xf32>) {
    %0 = stablehlo.iota dim = 1 : tensor<5x4xi32>
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = "stablehlo.reduce"(%arg0, %0, %1, %2) <{dimensions = array<i64: 1>}> ({
      ^bb0(%4: tensor<f32>, %5: tensor<i32>, %6: tensor<f32>, %7: tensor<i32>):
      %8 = stablehlo.compare LT, %5, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %9 = stablehlo.compare GT, %4, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.compare EQ, %4, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.and %10, %8 : tensor<i1>
      %12 = stablehlo.or %9, %11 : tensor<i1>
      %13 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.compare EQ, %6, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %15 = stablehlo.or %14, %8 : tensor<i1>
      %16 = stablehlo.and %13, %15 : tensor<i1>
      %17 = stablehlo.or %12, %16 : tensor<i1>
      %18 = stablehlo.select %17, %4, %6 : tensor<i1>, tensor<f32>
      %19 = stablehlo.select %17, %5, %7 : tensor<i1>, tensor<i32>
      stablehlo.return %18, %19 : tensor<f32>, tensor<i32>
    }) : (tensor<5x4xf32>, tensor<5x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
    %20 = stablehlo.convert %3#1 : (tensor<5xi32>) -> tensor<5xi32>
    %21 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<5x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    %22 = stablehlo.reshape %arg0 : (tensor<5x4xf32>) -> tensor<1x5x4x1xf32>
    %23 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %24 = "stablehlo.reduce_window"(%22, %23) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 1, 1, 1>, window_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
      ^bb0(%25: tensor<f32>, %26: tensor<f32>):
      %27 = stablehlo.maximum %25, %26 : tensor<f32>
      stablehlo.return %27 : tensor<f32>
    }) : (tensor<1x5x4x1xf32>, tensor<f32>) -> tensor<1x2x2x1xf32>
    return %20, %21, %24 : tensor<5xi32>, tensor<2x4xf32>, tensor<1x2x2x1xf32>
  }
}
