//! What a mailbox takes.

use rmpi::MpiDatatype;

/// A message: plain data that MPI can receive, and that refers to nothing.
///
/// Every type with `#[derive(MpiDatatype)]` and a default value is one, and numbers are. A type with a
/// reference is none, since what it refers to is not on the other process:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Request<'a> {
///     table: &'a [u64],
/// }
/// fn is_message<M: rmpi_actors::Message>() {}
/// is_message::<Request<'static>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a message",
    note = "messages are plain data: numbers, arrays of them, and types with \
            `#[derive(Clone, Copy, Default, MpiDatatype)]`"
)]
pub trait Message: MpiDatatype + Default + 'static {}

impl<M: MpiDatatype + Default + 'static> Message for M {}

/// A message's name in texts for people: its type without the path.
pub(crate) fn name<M: Message>() -> &'static str {
    let name = core::any::type_name::<M>();
    let path = name.find('<').unwrap_or(name.len());
    name[..path].rfind("::").map_or(name, |end| &name[end + 2..])
}
