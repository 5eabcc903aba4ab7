//! The variables of the kernel's environment that configured servers receive.

use mgp_types::mgp::Glob;

use super::model::Config;

/// The variables for proxies and certificates, which a program in a network with either needs to reach any host. The
/// variables that single runtimes read for this purpose are listed too. Each stands on a line.
const DEFAULTS: &str = include_str!("pass_env.txt");

impl Config {
    /// Returns whether the servers of the configuration are given this variable of the kernel's environment.
    ///
    /// The kernel's own variables, one of which proves who operates it, are given to no server. A pattern with `!` in
    /// front takes precedence over every pattern without one.
    pub fn passes_variable(&self, name: &str) -> bool {
        let names = |pattern: &str| Glob::new(pattern).matches(name);
        let withheld = self.pass_env.iter().filter_map(|pattern| pattern.strip_prefix('!'));
        if name.starts_with("MGP_") || withheld.into_iter().any(names) {
            return false;
        }
        DEFAULTS.lines().any(|passed| passed == name) || self.pass_env.iter().any(|pattern| names(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_and_certificates_pass_and_others_by_name_or_pattern() {
        let passing = |patterns: &[&str]| {
            let pass_env = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            let config = Config { pass_env, ..Config::default() };
            let names = ["https_proxy", "SSL_CERT_FILE", "CORP_A", "CORP_B", "TOKEN", "MGP_OPERATORS_TOKEN"];
            names.into_iter().filter(|name| config.passes_variable(name)).collect::<Vec<_>>()
        };
        assert_eq!(passing(&[]), ["https_proxy", "SSL_CERT_FILE"]);
        assert_eq!(passing(&["CORP_*", "!CORP_B"]), ["https_proxy", "SSL_CERT_FILE", "CORP_A"]);
        assert_eq!(passing(&["TOKEN", "!*_proxy"]), ["SSL_CERT_FILE", "TOKEN"]);
        assert_eq!(passing(&["*"]), ["https_proxy", "SSL_CERT_FILE", "CORP_A", "CORP_B", "TOKEN"]);
    }
}
