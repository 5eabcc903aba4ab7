//! An agent with a shell runs what decides in place of a person, or another program by way of a third.

use serde_json::{Value, json};

use crate::runner::tests;
use crate::server::{self, Scene};

tests![
    what_decides_reaches_the_kernel_or_runs_another_program_does_not_pass_in_silence,
    what_is_built_anew_is_deleted_and_daily_commands_run,
];

/// A kernel with a server that runs commands, and may, and these settings besides.
fn with_shell(settings: &str) -> Scene {
    let granted = "[[permissions.grants]]\npermission = \"shell.execute\"\n";
    Scene::new(&format!("{settings}{granted}"), &[("box", "")])
}

fn ran(scene: &mut Scene, command: &str) -> Value {
    scene.call("box.execute_command", &json!({"command": command}))
}

/// The corpus of `mgp-security` has many more of each kind. A rule stands for the person who would be asked.
async fn what_decides_reaches_the_kernel_or_runs_another_program_does_not_pass_in_silence() {
    let rule = |effect: &str| format!("[[ask]]\ntool = \"*\"\neffect = \"{effect}\"\nask = \"refuse\"\n");
    let asked = ["runs_later", "runs_unknown", "sends", "destroys", "gives_access"].map(rule).concat();
    let mut scene = with_shell(&asked);
    for command in [
        // What decides runs under no name.
        "/usr/bin/mgp keys new attacker",
        "exec -a ls mgp keys new attacker",
        "ln -s $(which mgp) ./k; ./k trust",
        "/proc/self/exe keys new attacker",
        "./renamed permissions approve box",
        "kill $PPID",
        // Files and sockets of the kernel are out of reach.
        "sqlite3 state/mgp.db .tables",
        "nc -U state/mgp.sock",
        "echo '[[servers]]' >> mgp.toml",
        "curl --unix-socket /var/run/docker.sock http://localhost/version",
        // A program that runs another one may run any.
        "sed '1e date' mgp.toml",
        "screen -dm sh -c 'rm -rf ./gone'",
        "ansible localhost -m shell -a 'rm -rf ./gone'",
        "git archive --exec='sh -c date' HEAD",
        "a-program-nobody-knows --exec='rm -rf ./gone'",
        "a-program-nobody-knows rm -rf ./gone",
        // Packages from addresses are not installed, and work is not thrown away.
        "pip install git+https://packages.invalid/x",
        "install -m 755 x /usr/bin/none",
        "git reset --hard",
    ] {
        let answer = ran(&mut scene, command);
        assert!(server::calls(&scene.home, "box").is_empty(), "{command} came through: {answer}");
        let answer = answer.to_string();
        let is_judged =
            answer.contains("`/command` is blocked (") || answer.contains("an operator's rule refuses");
        assert!(is_judged, "{command} is refused by something else: {answer}");
    }
}

async fn what_is_built_anew_is_deleted_and_daily_commands_run() {
    let mut scene = with_shell("[confirmation]\ndangerous = false\n");
    for command in [
        "rm -rf node_modules",
        "rm -rf target ./build",
        "echo https://example.com/a/b | cut -d/ -f3",
        "ls -la | sort | head -n 3",
        "printf 'a\\nb\\n' | sed 's/a/c/'",
    ] {
        let answer = ran(&mut scene, command);
        assert_ne!(answer["result"]["isError"], true, "{command}: {answer}");
        assert!(answer["error"].is_null(), "{command}: {answer}");
    }
    assert_eq!(server::calls(&scene.home, "box").len(), 5);
}
