use super::*;

fn faults(file: &str, text: &str) -> Vec<(usize, String)> {
    let own = HashSet::from(["mgp-server-sdk", "mgp-kernel", "on-npm"]);
    KnownNames { own, others: HashSet::from(["@a/files", "serde", "postgres"]) }.faults(file, text)
}

#[test]
fn what_is_ours_is_fetched_from_no_registry_and_no_address() {
    for text in [
        "`npx -y @mgp/cli demo`",
        "`uvx mgp demo`",
        "`pip install mgp==0.1.0`",
        "`npm install -g on-npm`",
        "`npx @npm@ demo`",
        "`cargo add mgp-server-sdk`",
        "`cargo install mgp-kernel`",
        "`cargo generate mgp-project/mgp`",
        "`docker pull ghcr.io/someone/mgp`",
        "`brew install mgp`",
        "`winget install MGPProject.MGP`",
        "`nix run github:someone/mgp`",
        "[sources](https://github.com/mgp-project/mgp)",
        "see docs.rs/mgp-kernel",
        "Maintainer: <mgp-project@users.noreply.github.com>",
        "io.github.mgp-project/mgp",
        "install @mgp/cli again",
        "mgp-server-sdk = \"0.1\"",
        "mgp-server-sdk = { version = \"0.1\", features = [\"http\"] }",
        "mgp-server-sdk = { git = \"https://git.somewhere.dev/x\" }",
        "\"on-npm\" = '1.0'",
    ] {
        for file in ["docs/a.md", "mgp-kernel/tests/a.rs"] {
            let text = if file.starts_with("docs/") { text } else { &*text.replace('`', "") };
            assert!(!faults(file, text).is_empty(), "{file}: {text}");
        }
    }
}

#[test]
fn files_clones_examples_and_what_is_on_the_machine_are_at_hand() {
    for text in [
        "`npm install -g ./on-npm-0.1.0.tgz`",
        "`uv tool install ./FILE.whl`",
        "`pip install ./mgp_kernel-0.1.0-py3-none-any.whl`",
        "`cargo install --path mgp-kernel --profile dist`",
        "`podman run --rm localhost/mgp:0.1.0 demo`",
        "`skopeo copy oci-archive:FILE docker://registry.example/mgp:0.1.0`",
        "dev.cloto/mgp/agent and .config/mgp/mgp.toml",
        "`git clone https://git.example/mgp`",
        "`brew install local/mgp/mgp-kernel`",
        "`nix run .` and `nix run path:$PWD`",
        "`npx -y PACKAGE`",
        "mgp-server-sdk = { path = \"../mgp/mgp-server-sdk\" }",
        "mgp-server-sdk = { path = \"mgp-server-sdk\", version = \"0.1.0\" }",
        "mgp-server-sdk = { git = \"https://git.example/mgp\" }",
        "mgp-server-sdk.workspace = true",
        "http://127.0.0.1:7332/mgp and https://mgp.example/mcp, http://kernels/mgp",
        "docs/mgp.md and ~/.config/mgp/mgp.toml",
    ] {
        assert_eq!(faults("docs/a.md", text), [], "{text}");
    }
}

#[test]
fn packages_of_others_are_known_where_people_read_of_them() {
    assert_eq!(faults("docs/a.md", "`npx -y @a/files@1.2 /tmp` and `cargo add serde`"), []);
    assert_eq!(faults("contrib/a.yaml", "image: postgres:15\n  image: localhost/mgp:0.1.0\n"), []);
    assert_eq!(faults("contrib/a.yaml", "  image: ghcr.io/x/redis:7\n")[0].0, 1);
    assert!(!faults("docs/a.md", "COPY --from=mgp:0.1.0 /usr/bin/mgp /usr/bin/\n").is_empty());
    assert_eq!(faults("contrib/a.yaml", "command: npx\nargs: [-y, some-server]\n")[0].0, 1);
    assert_eq!(faults("mgp-kernel/src/a.rs", "// `uvx some-server`\n")[0].0, 1);
    let in_tests = format!("fn f() {{}}\n{TESTS}\n// `uvx some-server`\n");
    assert_eq!(faults("mgp-kernel/src/a.rs", &in_tests), []);
    assert_eq!(faults("mgp-kernel/tests/a.rs", "\"uvx some-server\""), []);
}
