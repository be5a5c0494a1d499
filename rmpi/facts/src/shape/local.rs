//! Which functions need nobody else.

use crate::FunctionId;

/// Does the function only tell what this process knows: nothing moves, and nothing is made, changed or ended? Of such
/// functions, those that programs call in loops, and whose answer depends on the values of their arguments and on the object
/// that a handle stands for, but not on an array.
#[inline(always)]
pub const fn only_tells(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Cart_coords, MPI_Cart_shift, MPI_Comm_rank, MPI_Comm_size, MPI_Get_address,
        MPI_Get_count, MPI_Get_elements, MPI_Type_get_extent, MPI_Type_size,
    };
    matches!(
        function,
        MPI_Cart_coords
            | MPI_Cart_shift
            | MPI_Comm_rank
            | MPI_Comm_size
            | MPI_Get_address
            | MPI_Get_count
            | MPI_Get_elements
            | MPI_Type_get_extent
            | MPI_Type_size
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, NONE, Shape, is_collective, is_collective_on_object};

    /// By the list: they return a code and give nothing but numbers, nothing moves, and nobody else need come.
    #[test]
    fn what_only_tells_has_no_effect() {
        for function in FunctionId::all().filter(|function| only_tells(*function)) {
            let shape = Shape::of(function);
            assert!(shape.returns_code && !function.is_large_count(), "{function}");
            let others = [shape.requests, shape.new_request, shape.new_communicator, shape.window];
            assert!(others.iter().all(|position| *position == NONE), "{function}");
            assert!(!is_collective(function, function.class(), false), "{function}");
            assert!(!is_collective_on_object(function), "{function}");
            let mut gives = false;
            for parameter in function.parameters() {
                let what = parameter.rust_type().replace(' ', "");
                let is_number = ["*mutc_int", "*mutMPI_Aint", "*mutMPI_Count"].contains(&&*what);
                match parameter.direction {
                    Direction::In => {
                        assert!(parameter.length().is_none(), "{function}: {}", parameter.name());
                    }
                    Direction::Out if is_number => gives = true,
                    _ => panic!("{function}: {}", parameter.name()),
                }
            }
            assert!(gives, "{function}");
        }
    }
}
