module @f_nested {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<f32>) -> (tensor<3xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:3 = stablehlo.while(%s1_0 = %0, %s1_1 = %arg0, %s1_2 = %arg1) : tensor<i32>, tensor<3xf32>, tensor<f32>
    cond {
      %2 = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %s1_0, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %s1_0, %4 : tensor<i32>
      %8 = "stablehlo.sort"(%s1_1) <{dimension = 0 : i64, is_stable = true}> ({
        ^bb0(%6: tensor<f32>, %7: tensor<f32>):
        %9 = stablehlo.compare LT, %6, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      }) : (tensor<3xf32>) -> (tensor<3xf32>)
      %10 = stablehlo.constant dense<0> : tensor<i32>
      %11:4 = stablehlo.while(%s11_0 = %10, %s11_1 = %8, %s11_2 = %s1_0, %s11_3 = %s1_2) : tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<f32>
      cond {
        %12 = stablehlo.constant dense<2> : tensor<i32>
        %13 = stablehlo.compare LT, %s11_0, %12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %13 : tensor<i1>
      } do {
        %14 = stablehlo.constant dense<1> : tensor<i32>
        %15 = stablehlo.add %s11_0, %14 : tensor<i32>
        %16 = stablehlo.constant dense<0> : tensor<i32>
        %17 = stablehlo.compare EQ, %s11_2, %16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %18 = "stablehlo.if"(%17) ({
          %19 = stablehlo.broadcast_in_dim %s11_3, dims = [] : (tensor<f32>) -> tensor<3xf32>
          %20 = stablehlo.add %s11_1, %19 : tensor<3xf32>
          stablehlo.return %20 : tensor<3xf32>
        }, {
          %21 = stablehlo.constant dense<2.0> : tensor<f32>
          %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<3xf32>
          %23 = stablehlo.multiply %s11_1, %22 : tensor<3xf32>
          stablehlo.return %23 : tensor<3xf32>
        }) : (tensor<i1>) -> tensor<3xf32>
        stablehlo.return %15, %18, %s11_2, %s11_3 : tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<f32>
      }
      stablehlo.return %5, %11#1, %s1_2 : tensor<i32>, tensor<3xf32>, tensor<f32>
    }
    return %1#1 : tensor<3xf32>
  }
}
