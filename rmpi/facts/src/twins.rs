//! Functions and their large-count twins: `MPI_Send` and `MPI_Send_c`.

use crate::FunctionId;

/// How a parameter differs between a function and its large-count twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Not at all.
    Same,
    /// A count or displacement, wider in the twin.
    Scalar,
    /// An array of counts or displacements, wider in the twin.
    Array,
    /// An array of the same 64 bits under two names: `MPI_Aint` and `MPI_Count`.
    Pointer,
}

impl FunctionId {
    /// The large-count twin, `MPI_Send_c` of `MPI_Send`, where the two differ in nothing but the width of counts and
    /// displacements.
    pub fn large_count_twin(self) -> Option<FunctionId> {
        let twin = format!("{}_c", self.name()).parse().ok()?;
        let same = |function: FunctionId| function.parameters().len();
        let differ =
            same(self) != same(twin) || (0..same(self)).any(|at| width(self, twin, at).is_none());
        (!differ).then_some(twin)
    }

    /// All functions but those that are the [twin](Self::large_count_twin) of another one.
    pub fn all_but_twins() -> impl Iterator<Item = FunctionId> {
        let twins: Vec<_> = Self::all().filter_map(Self::large_count_twin).collect();
        Self::all().filter(move |function| !twins.contains(function))
    }

    /// How a function's parameters differ from those of its [twin](Self::large_count_twin): all are the same where it
    /// has none.
    pub fn widths(self) -> Vec<Width> {
        let twin = self.large_count_twin().unwrap_or(self);
        (0..self.parameters().len())
            .map(|at| width(self, twin, at).unwrap_or(Width::Same))
            .collect()
    }
}

/// `None` where a parameter differs by more than its width.
fn width(function: FunctionId, twin: FunctionId, at: usize) -> Option<Width> {
    // Compilers write `*const c_int` or `* const c_int`.
    let plain = |function: FunctionId| function.parameters()[at].rust_type().replace("* ", "*");
    match (plain(function).as_str(), plain(twin).as_str()) {
        (narrow, wide) if narrow == wide => Some(Width::Same),
        ("c_int" | "MPI_Aint", "MPI_Count" | "MPI_Aint") => Some(Width::Scalar),
        ("*const c_int", "*const MPI_Count" | "*const MPI_Aint") => Some(Width::Array),
        ("*const MPI_Aint", "*const MPI_Count") => Some(Width::Pointer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{FunctionId, Width};

    #[test]
    fn twins_differ_by_widths_only() {
        use FunctionId::*;
        assert_eq!(MPI_Send.large_count_twin(), Some(MPI_Send_c));
        assert_eq!(MPI_Send.widths()[..2], [Width::Same, Width::Scalar]);
        assert_eq!(MPI_Gatherv.widths()[4..6], [Width::Array, Width::Array]);
        let created = MPI_Type_create_hindexed.widths();
        assert_eq!(created[1..3], [Width::Array, Width::Pointer]);
        for alone in [MPI_Send_c, MPI_Barrier, MPI_Comm_rank] {
            assert_eq!(alone.large_count_twin(), None);
            assert!(alone.widths().iter().all(|width| *width == Width::Same));
        }
        // `MPI_Type_get_envelope_c` is one of those that are more than a twin.
        let alone: Vec<_> = FunctionId::all_but_twins().collect();
        assert!(alone.contains(&MPI_Send) && alone.contains(&MPI_Type_get_envelope_c));
        assert!(!alone.contains(&MPI_Send_c));
        // The twin says more: how many large counts there are.
        assert_eq!(MPI_Type_get_envelope.large_count_twin(), None);
    }
}
