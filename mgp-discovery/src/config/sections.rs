//! The list of all sections of the file.

use super::model::Config;

/// Calls a macro with each section but `servers`. A missing section does not compile.
macro_rules! sections {
    ($($section:ident),+ $(,)?) => {
        impl Config {
            pub(super) fn different_sections(&self, other: &Self) -> Vec<&'static str> {
                // The pattern lists all fields, so that no section is forgotten here.
                let Self { servers: _, $($section: _),+ } = self;
                let mut different = Vec::new();
                $(if self.$section != other.$section { different.push(stringify!($section)); })+
                different
            }
        }
    };
}

sections! {
    pass_env, listen, agents, access, permissions, confirmation, validators, audit, limits, tools, names, registration, telemetry, kernel,
}
