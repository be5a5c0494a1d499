//! What a tool exports for Fortran: its entry points, as `install_pmpi_layer!` makes them.

/// What a tool has for Fortran beside its entry points: see `fortran/mod.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __fortran {
    () => {
        #[unsafe(no_mangle)]
        static mpi_tool_fortran: $crate::install::fortran::PendingSlot =
            $crate::install::fortran::PendingSlot::FORTRAN;
    };
}

/// The entry points for Fortran; `$target` names a macro of this crate that says which C function
/// they call, with more for it.
#[doc(hidden)]
#[macro_export]
macro_rules! __fortran_entries {
    ([$target:tt] $($c_name:ident $name:ident $form:ident $symbol:literal;)*) => {
        $($crate::__fortran_entry! { $target $c_name $name $form $symbol })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fortran_entry {
    // A clock has no arguments, and a result that is no word.
    ([$target:ident $($table:ident)?] $c_name:ident $name:ident Same $symbol:literal) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C-unwind" fn function() -> f64 {
                // SAFETY: MPI asks that a clock is called while MPI runs. Its caller is the application,
                // which has called this; the target is the function of the same name, and takes no arguments.
                unsafe {
                    $crate::$target! { call $c_name $name $($table)? }
                }
            }
        };
    };
    ([$target:ident $($table:ident)?] $c_name:ident $name:ident $form:ident $symbol:literal) => {
        const _: () = {
            static ENTRY: $crate::install::fortran::Entry = $crate::install::fortran::Entry::new(
                $crate::FunctionId::$c_name,
                $crate::install::fortran::Form::$form,
                match ::core::ffi::CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a symbol has no NUL"),
                },
                $crate::$target! { target $c_name $name $($table)? },
            );

            #[unsafe(export_name = $symbol)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn function() {
                $crate::__jump_with! { address ENTRY, $crate::install::fortran::call }
            }
        };
    };
}

/// A tool's entry points call the function of C that an application finds: its own, or that of a tool before it.
#[doc(hidden)]
#[macro_export]
macro_rules! __fortran_function {
    (call $c_name:ident $name:ident) => {
        $name()
    };
    (target $c_name:ident $name:ident) => {
        $crate::install::fortran::Target::Found
    };
}

/// Those of a library that runs a stack go where its table says.
#[doc(hidden)]
#[macro_export]
macro_rules! __fortran_slot {
    (call $c_name:ident $name:ident $table:ident) => {
        $crate::NextFunctions::$name(&$table)
    };
    (target $c_name:ident $name:ident $table:ident) => {
        $crate::install::fortran::Target::Slot($table.slot($crate::FunctionId::$c_name))
    };
}
