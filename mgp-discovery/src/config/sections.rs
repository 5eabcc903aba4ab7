use super::model::Config;

/// For what is done to each section but `servers`. A section that is missing here does not compile.
macro_rules! sections {
    ($($section:ident),+ $(,)?) => {
        impl Config {
            pub(super) fn different_sections(&self, other: &Self) -> Vec<&'static str> {
                // Taken apart, so that none is forgotten here.
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
