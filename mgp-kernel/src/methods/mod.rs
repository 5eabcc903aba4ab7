//! MGP's methods, as far as the kernel itself serves them.

mod as_tools;

pub(crate) use self::as_tools::MethodsAsToolsLayer;
