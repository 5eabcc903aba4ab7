//! The table of protected files, as data: groups of patterns with the kind of the files and the use that is forbidden.
//!
//! Patterns ignore case. A pattern begins with `**/` for any directory, `~/` for the home of any user, or `/` for the
//! root or a drive. `**` matches any number of names, and `*` any part of one name. `directory/**` matches the
//! directory itself and everything below it. The first group that matches decides, so exceptions stand before the
//! larger group that they are made from.

use super::{ForbiddenUse, ProtectedKind};

/// A group of patterns with the same kind and the same forbidden use.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: ProtectedKind,
    pub(super) forbids: ForbiddenUse,
    /// The patterns, separated by a comma and a space.
    pub(super) patterns: &'static str,
}

const fn group(kind: ProtectedKind, forbids: ForbiddenUse, patterns: &'static str) -> Group {
    Group { kind, forbids, patterns }
}

pub(super) const GROUPS: &[Group] = &[
    // Exceptions: samples, public halves of keys, and files that every program of a system reads.
    group(
        ProtectedKind::Secret,
        ForbiddenUse::Nothing,
        "\
            **/.env.example, **/.env.*.example, **/.env.sample, **/.env.*.sample, **/.env.template, \
            **/.env.*.template, **/.env.dist, **/.env.defaults, **/.env.schema, **/.env.d.ts, **/.env-example, \
            **/.env-sample, **/test/**/*.pem, **/test/**/*.key, **/tests/**/*.pem, **/tests/**/*.key, \
            **/test*data/**/*.pem, **/test*data/**/*.key, **/fixtures/**/*.pem, **/fixtures/**/*.key, \
            **/*cert*.pem, **/*chain*.pem, **/*bundle*.pem, **/*public*.pem, **/*pub.pem, **/ca.pem, \
            **/id_*.md, **/id_*.txt, **/id_*.html, **/id_*.rst, **/*-ca.pem, **/dhparam*.pem, **/*dummy*.key, **/*example*.key, **/*public*.key, **/*pub.key",
    ),
    group(
        ProtectedKind::System,
        ForbiddenUse::Writing,
        "\
            /proc/cpuinfo, /proc/meminfo, /proc/version, /proc/loadavg, /proc/uptime, /proc/stat, \
            /proc/filesystems, /proc/sys/kernel/osrelease, /sys/class/thermal/**/temp, \
            /sys/class/power_supply/**/capacity",
    ),
    group(
        ProtectedKind::Stream,
        ForbiddenUse::Nothing,
        "/dev/null, /dev/zero, /dev/full, /dev/shm/**, /dev/random, /dev/urandom",
    ),
    group(
        ProtectedKind::Startup,
        ForbiddenUse::Writing,
        "**/id_*.pub, **/.ssh/*.pub, **/.ssh/config, **/.ssh/known_hosts",
    ),
    // The kernel's own files by their usual names. The kernel itself adds the places where it really keeps them.
    group(
        ProtectedKind::Kernel,
        ForbiddenUse::Everything,
        "\
            **/.config/mgp/**, **/.local/state/mgp/**, **/Library/Application Support/mgp/**, \
            **/AppData/*/mgp/**, **/mgp.db, **/mgp.db-*, **/mgp.sock, /run/user/*/mgp/**, /run/mgp/**, \
            /var/lib/mgp/**, /etc/mgp/**",
    ),
    group(ProtectedKind::Kernel, ForbiddenUse::Writing, "**/mgp.toml, **/servers.toml"),
    group(
        ProtectedKind::Key,
        ForbiddenUse::Everything,
        "\
            **/.ssh/**, **/.gnupg/**, **/gnupg/private-keys*/**, **/id_rsa*, **/*_id_rsa, **/id_dsa, \
            **/id_ecdsa*, **/id_ed25519*, **/*_id_ed25519, **/id_xmss, **/identity.asc, **/secring.gpg, \
            **/authorized_keys, **/authorized_keys2, **/ssh_host_*_key, **/*.pem, **/*.key, **/*.ppk, **/*.p12, \
            **/*.pfx, **/*.p8, **/*.jks, **/*.keystore, **/*.kdbx, **/*.kdb, **/*.agilekeychain/**, \
            **/*.keychain, **/*.keychain-db, **/*.keytab, **/.age/**, **/.config/age/**, **/.config/sops/**, \
            **/.config/minisign/**, **/.minisign/**, **/.cosign/**, **/cosign.key, /etc/ssl/private/**, \
            /etc/pki/**/private/**, /etc/letsencrypt/**, /etc/wireguard/**, /etc/openvpn/**, \
            /etc/ipsec.d/private/**, /etc/ipsec.secrets, /etc/swanctl/private/**, /etc/krb5.keytab, \
            **/.ethereum/**/keystore/**, **/.bitcoin/**, **/.electrum/**, **/.config/solana/**, **/wallet.dat",
    ),
    group(
        ProtectedKind::Secret,
        ForbiddenUse::Everything,
        "\
            **/.env, **/.env.*, **/*.env, **/.env-*, **/.flaskenv, **/.envrc, **/.direnv/**, **/.netrc, **/_netrc, \
            **/.authinfo, **/.authinfo.gpg, **/.pgpass, **/pgpass.conf, **/.pg_service.conf, **/.my.cnf, \
            **/.mylogin.cnf, **/.mongorc.js, **/.dbshell, **/.git-credentials, **/.config/git/credentials, \
            **/.htpasswd, **/.htdigest, **/.smbcredentials, **/.s3cfg, **/.boto, **/.aws/**, **/.azure/**, \
            **/.config/gcloud/**, **/AppData/*/gcloud/**, **/application_default_credentials.json, \
            **/service-account*.json, **/service_account*.json, **/client_secret*.json, **/.oci/**, \
            **/.aliyun/**, **/.bluemix/**, **/.config/doctl/**, **/.config/hcloud/**, **/.config/linode-cli, \
            **/.config/scw/**, **/.config/flyctl/**, **/.fly/config.yml, **/.vercel/auth.json, \
            **/com.vercel.cli/**, **/.netlify/config.json, **/.config/netlify/**, **/.wrangler/config/**, \
            **/.config/.wrangler/**, **/.railway/**, **/.config/heroku/**, **/.heroku/**, \
            **/.supabase/access-token, **/.kube/**, **/kubeconfig, **/kubeconfig.y*ml, **/*.kubeconfig, \
            /etc/kubernetes/**, /etc/rancher/**/*.yaml, /var/lib/kubelet/**, /var/lib/rancher/**, \
            /var/run/secrets/**, /run/secrets/**, /run/credentials/**, **/.docker/config.json, \
            **/.docker/contexts/**, **/.docker/machine/**, ~/.docker/**, **/.dockercfg, \
            **/.config/containers/auth.json, **/.npmrc, **/.pypirc, **/pip.conf, **/pip.ini, **/.config/pypoetry/auth.toml, \
            **/.config/uv/credentials/**, **/.gem/credentials, **/.bundle/config, **/.cargo/credentials, \
            **/.cargo/credentials.toml, **/.composer/auth.json, **/composer/auth.json, **/.m2/settings.xml, \
            **/.m2/settings-security.xml, **/.gradle/gradle.properties, **/.nuget/NuGet/NuGet.Config, \
            **/AppData/Roaming/NuGet/NuGet.Config, **/.hex/hex.config, **/.conan/**/credentials*, \
            **/.terraform.d/credentials.tfrc.json, **/.terraformrc, **/terraform.rc, **/*.tfstate, \
            **/*.tfstate.backup, **/*.tfvars, **/.pulumi/credentials.json, **/.vault-token, **/.lastpass/**, **/.ansible/**/*pass*, **/krb5cc_*, **/.vault_pass*, \
            **/.vault-password*, **/.config/gh/**, **/GitHub CLI/hosts.yml, **/.config/glab-cli/**, \
            **/.config/hub, **/.config/op/**, **/.op/**, **/.config/Bitwarden*/**, **/Bitwarden*/data.json, \
            **/.config/rclone/**, **/rclone.conf, **/.rclone.conf, **/.config/ngrok/**, **/.ngrok2/**, \
            **/.cloudflared/**, **/.config/stripe/**, **/.sentryclirc, **/.databrickscfg, **/.snowsql/config, \
            **/.dbt/profiles.yml, **/.kaggle/**, **/.huggingface/token, **/huggingface/token, \
            **/huggingface/stored_tokens, **/.config/openai/**, **/.openai/**, **/.anthropic/**, \
            **/.config/anthropic/**, **/.claude/.credentials.json, **/.claude/projects/**, **/.codex/auth.json, \
            **/.gemini/oauth_creds.json, **/.config/github-copilot/**, **/.password-store/**, \
            **/.local/share/keyrings/**, **/.local/share/kwalletd/**, **/.kde*/**/kwallet/**, \
            **/Library/Keychains/**, /Library/Keychains/**, /System/Library/Keychains/**, \
            **/.config/1Password/**, **/Application Support/1Password/**, **/AppData/*/1Password/**, \
            **/KeePass*/**/*.xml, **/AppData/*/Microsoft/Credentials/**, **/AppData/*/Microsoft/Protect/**, \
            **/AppData/*/Microsoft/Vault/**, **/AppData/*/Microsoft/Crypto/**, \
            **/AppData/*/Microsoft/SystemCertificates/**, /ProgramData/Microsoft/Crypto/**, \
            /ProgramData/Microsoft/Vault/**, **/.fetchmailrc, **/.msmtprc, **/.muttrc, **/.mutt/**, \
            **/.mbsyncrc, **/.offlineimaprc, **/.irssi/config, **/.weechat/**, **/.purple/accounts.xml, \
            **/.config/filezilla/**, **/FileZilla/sitemanager.xml, **/FileZilla/recentservers.xml, \
            **/.remmina/**, **/.local/share/remmina/**, **/.vnc/passwd, **/.x2goclient/**, **/.Xauthority, \
            **/.ICEauthority, **/.rhosts, **/.shosts, **/.jenkins/secrets/**, **/.config/configstore/**, \
            **/config/secrets.y*ml, **/secrets.json, **/secrets.toml, **/.secrets, **/.secrets/**, **/.secret, \
            **/credentials.json, **/.credentials, **/.credentials.json, **/master.key, \
            **/config/credentials/*.key, **/wp-config.php, **/.streamlit/secrets.toml, **/.vagrant.d/**, \
            **/NetworkManager/system-connections/**, /etc/wpa_supplicant/**, /etc/ppp/*-secrets, \
            /etc/mysql/debian.cnf, /etc/docker/**, /var/lib/docker/**, /var/lib/sss/**, \
            /var/lib/systemd/credential*, /etc/credstore*/**, **/cookies.txt, **/.cookies, **/cookies.sqlite",
    ),
    group(
        ProtectedKind::History,
        ForbiddenUse::Everything,
        "\
            **/.bash_history, **/.zsh_history, **/.zhistory, **/.histfile, **/.sh_history, **/.ksh_history, \
            **/.history, **/.local/share/fish/fish_history, **/.python_history, **/.node_repl_history, \
            **/.irb_history, **/.pry_history, **/.psql_history, **/.mysql_history, **/.sqlite_history, \
            **/.rediscli_history, **/.mongo_history, **/.lesshst, **/.viminfo, **/.zsh_sessions/**, \
            **/PSReadLine/ConsoleHost_history.txt",
    ),
    group(
        ProtectedKind::Browser,
        ForbiddenUse::Everything,
        "\
            **/.mozilla/**, **/.thunderbird/**, **/Mozilla/Firefox/**, **/Firefox/Profiles/**, \
            **/Thunderbird/Profiles/**, **/.librewolf/**, **/.waterfox/**, **/.config/google-chrome*/**, \
            **/.config/chromium/**, **/.config/BraveSoftware/**, **/.config/microsoft-edge*/**, \
            **/.config/opera*/**, **/.config/vivaldi*/**, **/Application Support/Google/Chrome*/**, \
            **/AppData/*/Google/Chrome*/**, **/Chromium/User Data/**, **/Application Support/BraveSoftware/**, \
            **/AppData/*/BraveSoftware/**, **/AppData/*/Microsoft/Edge*/**, \
            **/Application Support/Microsoft Edge*/**, **/Opera Software/**, **/com.operasoftware.*/**, \
            **/Application Support/Vivaldi/**, **/AppData/*/Vivaldi/**, **/Arc/User Data/**, \
            ~/Library/Safari/**, ~/Library/Cookies/**, **/Library/Containers/com.apple.Safari/**, \
            ~/Library/Messages/**, ~/Library/Mail/**, **/snap/firefox/**, **/snap/chromium/**, \
            **/.var/app/org.mozilla.*/**, **/.var/app/com.google.Chrome/**, **/logins.json, **/key4.db, \
            **/key3.db, **/Login Data, **/Login Data For Account, **/Web Data, **/Local State, \
            **/.config/Slack/**, **/.config/discord/**, **/.config/Signal/**, \
            **/.local/share/TelegramDesktop/**, **/Telegram Desktop/tdata/**",
    ),
    group(
        ProtectedKind::Startup,
        ForbiddenUse::Writing,
        "\
            **/.bashrc, **/.bash_profile, **/.bash_login, **/.bash_logout, **/.bash_aliases, **/.bashrc.d/**, \
            **/.profile, **/.zshrc, **/.zshenv, **/.zprofile, **/.zlogin, **/.zlogout, **/.zsh/**, \
            **/.oh-my-zsh/**, **/.kshrc, **/.mkshrc, **/.cshrc, **/.tcshrc, **/.login, **/.logout, **/.inputrc, \
            **/.pam_environment, **/.hushlogin, **/.xinitrc, **/.xsession, **/.xsessionrc, **/.xprofile, \
            **/.xserverrc, **/.Xresources, **/.Xdefaults, **/.forward, **/.k5login, **/.procmailrc, **/.plan, **/.screenrc, \
            **/.tmux.conf, **/.config/tmux/**, **/.byobu/**, **/.vimrc, **/.gvimrc, **/.exrc, **/.vim/**, \
            **/.config/nvim/**, **/.emacs, **/.emacs.el, **/.emacs.d/**, **/.config/emacs/**, **/.spacemacs, \
            **/.nanorc, **/.gdbinit, **/.gdbearlyinit, **/.lldbinit, **/.pythonrc, **/.pythonrc.py, \
            **/.pythonstartup, **/sitecustomize.py, **/usercustomize.py, **/site-packages/*.pth, \
            **/dist-packages/*.pth, **/.pdbrc, **/.irbrc, **/.pryrc, **/.Rprofile, **/.Renviron, **/.psqlrc, \
            **/.sqliterc, **/.wgetrc, **/.curlrc, **/_curlrc, **/.lessfilter, **/.lesskey, **/.dircolors, \
            **/.ackrc, **/.rpmmacros, **/.perldb, **/.config/fish/**, **/.config/nushell/**, \
            **/.config/elvish/**, **/.config/starship.toml, **/.config/powershell/**, **/WindowsPowerShell/**, \
            **/PowerShell/*profile*.ps1, **/.config/autostart/**, **/.config/autostart-scripts/**, \
            **/.config/plasma-workspace/**, **/.config/systemd/**, **/.local/share/systemd/**, \
            **/.config/environment.d/**, **/.config/upstart/**, **/.local/share/dbus-1/services/**, \
            **/.local/share/applications/**, **/.config/mimeapps.list, **/.config/i3/**, **/.i3/**, \
            **/.config/sway/**, **/.config/hypr/**, **/.config/awesome/**, **/.config/openbox/**, \
            **/.config/user-dirs.dirs, ~/.local/bin/**, ~/bin/**, ~/go/bin/**, ~/.cargo/bin/**, ~/.cargo/env, \
            ~/.cargo/config, ~/.cargo/config.toml, ~/.npm-global/**, ~/.nvm/**, ~/.pyenv/**, ~/.rbenv/**, \
            ~/.asdf/**, ~/.local/share/mise/**, ~/.config/mise/**, ~/.config/direnv/**, ~/.config/pip/**, \
            ~/.pip/**, ~/.config/uv/**, ~/.gradle/init.gradle, ~/.gradle/init.d/**, ~/.m2/extensions.xml, \
            ~/.hammerspoon/**, ~/.config/karabiner/**, ~/.config/git/**, **/Library/LaunchAgents/**, \
            **/Library/LaunchDaemons/**, **/Library/StartupItems/**, ~/Library/ScriptingAdditions/**, \
            ~/Library/Application Scripts/**, ~/Library/Preferences/**, ~/Library/Services/**, \
            **/com.apple.loginitems.plist, **/Start Menu/Programs/Startup/**, \
            **/Start Menu/Programs/StartUp/**, **/ntuser.dat*, /etc/cron*, /etc/cron*/**, /etc/anacrontab, \
            /var/spool/cron/**, /var/spool/at/**, /var/spool/anacron/**, /var/at/**, /usr/lib/cron/**, \
            /etc/systemd/**, /lib/systemd/**, /usr/lib/systemd/**, /usr/local/lib/systemd/**, /run/systemd/**, \
            /etc/init.d/**, /etc/init/**, /etc/rc*.d/**, /etc/rc.local, /etc/inittab, /etc/xinetd.d/**, \
            /etc/inetd.conf, /etc/xdg/autostart/**, /etc/profile, /etc/profile.d/**, /etc/bash.bashrc, \
            /etc/bashrc, /etc/zsh/**, /etc/zshrc, /etc/zshenv, /etc/zprofile, /etc/environment, \
            /etc/environment.d/**, /etc/update-motd.d/**, /etc/gitconfig, /etc/ld.so.*, /etc/ld.so.conf.d/**, \
            /etc/apt/**, /etc/yum.repos.d/**, /etc/dnf/**, /etc/pacman.conf, /etc/udev/**, /etc/modules*, \
            /etc/modprobe.d/**, /etc/NetworkManager/dispatcher.d/**, /etc/logrotate.d/**, /etc/launchd.conf, \
            /etc/emond.d/**, /etc/periodic/**, /Windows/System32/Tasks/**, /Windows/Tasks/**, \
            /Windows/System32/GroupPolicy/**, /autoexec.bat, /config.sys",
    ),
    group(
        ProtectedKind::Git,
        ForbiddenUse::Everything,
        "**/.git/config, **/.git/config.worktree, **/.git/credentials",
    ),
    group(
        ProtectedKind::Git,
        ForbiddenUse::Writing,
        "\
            **/.gitconfig, **/.git/hooks/**, **/.git/modules/**/hooks/**, **/.git/modules/**/config, \
            **/.git/worktrees/**/config*, **/.git/info/attributes, **/.githooks/**, **/.husky/**, \
            **/.lefthook/**, **/.lefthook-local/**, **/lefthook-local.yml, **/.pre-commit-hooks/**, \
            **/.hg/hgrc, **/.hgrc, **/.svn/**, **/.jj/repo/config.toml, **/.jjconfig.toml",
    ),
    group(
        ProtectedKind::Client,
        ForbiddenUse::Writing,
        "\
            **/.mcp.json, **/.mcp/**, **/mcp.json, **/mcp_config.json, **/mcp_settings.json, \
            **/mcp-config.json, **/mcp_servers.json, **/mcp-servers.json, **/cline_mcp_settings.json, \
            **/claude_desktop_config.json, **/.claude.json, **/.claude/**, **/.config/claude/**, \
            **/.config/Claude/**, **/.codex/**, **/.gemini/**, **/.cursor/**, **/.cursorrules, **/.windsurf/**, \
            **/.windsurfrules, **/.codeium/**, **/.continue/**, **/.roo/**, **/.kilocode/**, **/.clinerules/**, \
            **/.cline/**, **/.amazonq/**, **/.kiro/**, **/.trae/**, **/.junie/**, **/.opencode/**, \
            **/opencode.json, **/opencode.jsonc, **/.config/opencode/**, **/.config/goose/**, \
            **/.config/crush/**, **/.aider.conf.yml, **/.config/zed/**, **/.zed/**, \
            **/Application Support/Claude/**, **/Application Support/Zed/**, **/AppData/*/Claude/**, \
            **/AppData/*/Zed/**, **/.lmstudio/**, **/librechat.y*ml, **/.vscode/tasks.json, \
            **/.vscode/launch.json, **/.vscode/settings.json, **/.vscode/mcp.json, **/.vscode/extensions/**, \
            **/.vscode-server/**, **/.vscode-insiders/**, **/.config/Code*/User/**, \
            **/Application Support/Code*/User/**, **/AppData/*/Code*/User/**, **/.config/VSCodium/User/**, \
            **/Application Support/VSCodium/User/**, **/AppData/*/VSCodium/User/**, **/.config/Cursor/User/**, \
            **/Application Support/Cursor/User/**, **/AppData/*/Cursor/User/**, **/*.code-workspace, \
            **/.idea/**, **/.fleet/**, **/.run/*.run.xml, **/JetBrains/**/options/**, \
            **/JetBrains/**/*.vmoptions, **/*.sublime-project, **/.sublime-project, **/.nova/**, **/.yarnrc, \
            **/.yarnrc.yml, **/.condarc, **/.nvim.lua, **/.nvimrc, **/.lvimrc, **/.local.vimrc, \
            **/.dir-locals.el, **/.devcontainer/**/devcontainer.json, **/.devcontainer.json, **/.gitpod.yml, **/.envrc.*, \
            **/.autoenv, **/.autoenv.zsh, **/.terraform/plugins/**",
    ),
    group(
        ProtectedKind::Accounts,
        ForbiddenUse::Everything,
        "\
            /etc/shadow*, /etc/gshadow*, /etc/.pwd.lock, /etc/master.passwd, /etc/spwd.db, /etc/sudoers, \
            /etc/sudoers.d/**, /etc/doas.conf, /etc/polkit-1/**, /etc/security/**, /etc/pam.d/**, \
            /etc/pam.conf, /etc/ssh/**, /etc/sssd/**, /etc/opasswd, /var/backups/shadow*, \
            /var/backups/gshadow*, /var/db/dslocal/**, /var/db/sudo/**, /run/sudo/**, \
            /Windows/System32/config/**, /Windows/repair/**, /Windows/NTDS/**, **/ntds.dit, \
            /Windows/Panther/*nattend*, **/unattend.xml, **/sysprep.xml, **/sysprep.inf",
    ),
    group(ProtectedKind::AccountList, ForbiddenUse::Everything, "/etc/passwd*, /etc/group*"),
    group(
        ProtectedKind::Stream,
        ForbiddenUse::Everything,
        "/dev/stdin, /dev/stdout, /dev/stderr, /dev/tty, /dev/fd/**, /dev/pts/**, /dev/console",
    ),
    group(
        ProtectedKind::Device,
        ForbiddenUse::Everything,
        "/dev/**, /PhysicalDrive*, /HarddiskVolume*/**, /pipe/**, /devices/**",
    ),
    group(
        ProtectedKind::Socket,
        ForbiddenUse::Everything,
        "\
            **/docker.sock, **/podman.sock, **/containerd.sock, **/crio.sock, **/*agent*.sock, /run/dbus/**, \
            /var/run/dbus/**, /run/user/*/bus, /run/user/*/keyring/**, /run/user/*/gnupg/**, \
            /run/user/*/systemd/**, /tmp/ssh-*/**, /tmp/.X11-unix/**, /run/docker*/**, /run/containerd/**, \
            /run/podman/**, /run/snapd*, /var/run/snapd*",
    ),
    group(
        ProtectedKind::System,
        ForbiddenUse::Everything,
        "/proc/**, /sys/**, /boot/**, /efi/**, /selinux/**",
    ),
    group(
        ProtectedKind::System,
        ForbiddenUse::Writing,
        "\
            /bin/**, /sbin/**, /lib*/**, /usr/bin/**, /usr/sbin/**, /usr/lib*/**, /usr/libexec/**, \
            /usr/local/**, /usr/share/**, /opt/homebrew/**, /etc/**, /var/lib/dpkg/**, /var/lib/rpm/**, \
            /nix/**, /System/**, /Library/**, /Applications/**, /Windows/**, /Program Files*/**, \
            /ProgramData/**, /boot.ini, /bootmgr, /pagefile.sys, **/.htaccess, **/web.config",
    ),
];

/// Environment variables, each with the beginning of the patterns that it stands for.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("home", "~"),
    ("userprofile", "~"),
    ("homepath", "~"),
    ("homedrive", ""),
    ("appdata", "~/AppData/Roaming"),
    ("localappdata", "~/AppData/Local"),
    ("xdg_config_home", "~/.config"),
    ("xdg_data_home", "~/.local/share"),
    ("xdg_state_home", "~/.local/state"),
    ("xdg_cache_home", "~/.cache"),
    ("xdg_runtime_dir", "/run/user/0"),
    ("cargo_home", "~/.cargo"),
    ("gnupghome", "~/.gnupg"),
    ("kubeconfig", "~/.kube/config"),
    ("docker_config", "~/.docker"),
    ("aws_shared_credentials_file", "~/.aws/credentials"),
    ("aws_config_file", "~/.aws/config"),
    ("google_application_credentials", "~/.config/gcloud/application_default_credentials.json"),
    ("ssh_auth_sock", "/tmp/ssh-0/agent.0"),
    ("zdotdir", "~"),
    ("bash_env", "~/.bashrc"),
    ("histfile", "~/.bash_history"),
    ("netrc", "~/.netrc"),
    ("mgp_config_path", "~/.config/mgp/servers.toml"),
    ("mgp_state", "~/.local/state/mgp"),
    ("windir", "/windows"),
    ("systemroot", "/windows"),
    ("systemdrive", "/"),
    ("programdata", "/programdata"),
    ("allusersprofile", "/programdata"),
    ("programfiles", "/program files"),
];

/// Directories below which a whole file system begins again.
pub(super) const MOUNTS: &[&str] = &[
    "/private", "/mnt/?", "/cygdrive/?", "/?", "/volumes/*", "/system/volumes/*", "/host", "/hostfs",
    "/rootfs", "/*/?$", "/wsl$/*", "/wsl.localhost/*", "/localhost", "/unc", "/globalroot", "/device/*",
    "/proc/*/root", "/proc/*/cwd", "/proc/*/task/*/root",
];

/// Homes of users, and patterns of the directories that hold them.
pub(super) const HOMES: &[&str] = &[
    "/home/*", "/users/*", "/root", "/var/root", "/var/home/*", "/export/home/*", "/usr/home/*",
    "/documents and settings/*",
];
