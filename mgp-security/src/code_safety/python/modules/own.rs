//! Modules that lie beside the code itself.

/// Whether the module is named as people name the parts of their own program, rather than a package that others
/// install: such a one comes with the code, like a relative import, and holds what its operator put there.
pub(in crate::code_safety) fn is_own(module: &str) -> bool {
    let root = module.split('.').next().unwrap_or(module);
    let is_server = root.split('_').any(|word| word.contains("mcp") || word == "server");
    is_server || OWN.split_whitespace().any(|name| name == root)
}

const OWN: &str = "\
    agent agents analysis app application apis auth backend base cache clients client common config configs \
    configuration connection connectors consts constants context controllers conversion core crud data database \
    db decorators definitions dependencies domain dto engine entities errors exceptions extractors fetchers \
    filters formatters formatting handlers helper helpers infrastructure integrations interfaces lib loaders \
    logger logging_config logging_utils main managers metadata middleware mixins model models operations params \
    parsers plugins processors project prompt prompts providers queries query registry repositories repository \
    requests_utils resources responses routers routes schema schemas scrapers search server servers service \
    services settings shared sources src storage store stores tasks templates tool tools tracing transforms \
    transport translators types_ util utilities utils validation version views workflows";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_own_program_are_known_by_their_names() {
        for module in [
            "utils",
            "src.tools.search",
            "config",
            "paper_mcp_server.client",
            "weathermcp",
            "document_server.tools",
        ] {
            assert!(is_own(module), "{module}");
        }
        for module in ["socketlib", "evil", "subprocess", "os", ""] {
            assert!(!is_own(module), "{module}");
        }
    }
}
