//! The variables of the kernel's environment that configured servers receive.

use mgp_types::mgp::Glob;

use super::model::Config;

/// The variables for proxies and certificates, which a program in a network with either needs to reach any host. The
/// variables that single runtimes read for this purpose are listed too.
const DEFAULTS: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "FTP_PROXY",
    "ftp_proxy",
    "NO_PROXY",
    "no_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "npm_config_noproxy",
    "NODE_USE_ENV_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_SYSTEM_CA",
    "npm_config_cafile",
    "NPM_CONFIG_CAFILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "DENO_TLS_CA_STORE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
];

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
        DEFAULTS.contains(&name) || self.pass_env.iter().any(|pattern| names(pattern))
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
