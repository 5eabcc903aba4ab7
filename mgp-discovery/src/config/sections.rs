use super::model::Config;

/// For what is done to each section but `servers`. A section that is missing here does not compile.
macro_rules! sections {
    ($($section:ident),+ $(,)?) => {
        impl Config {
            /// Takes each section that `said` does not have from `other`, whole: what a section says stands in one
            /// file, so that the headers of one file never go to the address of another. So with a server.
            pub(super) fn fill(&mut self, other: Self, said: impl Fn(&str) -> bool) {
                let Self { servers, $($section),+ } = other;
                $(if !said(stringify!($section)) { self.$section = $section; })+
                let theirs: Vec<_> = servers.into_iter().filter(|it| self.server(&it.id).is_none()).collect();
                self.servers.extend(theirs);
            }

            pub(super) fn different_sections(&self, other: &Self) -> Vec<&'static str> {
                let mut different = Vec::new();
                $(if self.$section != other.$section { different.push(stringify!($section)); })+
                different
            }
        }
    };
}

sections! {
    listen, agents, access, permissions, confirmation, validators, audit, limits, tools, registration, telemetry, kernel,
}
