//! Servers as scripts of the shell.

use crate::home::Home;

/// Returns a server with these tools, as JSON, that runs `call` when one is called, which sets `result` and may change
/// `tools`. What it hears it notes beside itself, in the file whose name ends in `.heard`.
pub(crate) fn shell_server(tools: &str, call: &str) -> String {
    // A message is one line.
    let tools: String = tools.lines().map(str::trim).collect();
    format!(
        r#"
tools='{tools}'
while read -r line; do
  printf '%s\n' "$line" >> "$0.heard"
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*)
      result='{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"shell","version":"1"}}}}' ;;
    *'"method":"tools/list"'*) result="{{\"tools\":$tools}}" ;;
    *'"method":"tools/call"'*)
      {call} ;;
    *'"id":'*)
      printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"unknown"}}}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
"#
    )
}

impl Home {
    /// A user with a server that tells the time.
    pub(crate) fn with_clock() -> Self {
        let home = Self::with_state();
        home.add_server("clock", &home.clock());
        home
    }

    /// A user whose configuration has these settings and a server that a [script](shell_server) is, with lines for its table.
    pub(crate) fn with_script(id: &str, script: &str, settings: &str, lines: &str) -> Self {
        let home = Self::with_state();
        let file = format!("{id}.sh");
        home.write(&file, script);
        let path = home.path(&file);
        home.configure(&format!(
            "{settings}\n[[servers]]\nid = {id:?}\ncommand = \"sh\"\nargs = [\"{}\"]\n{lines}\n",
            path.display()
        ));
        home
    }

    /// Adds a server that a command starts.
    pub(crate) fn add_server(&self, id: &str, command: &[String; 2]) {
        self.json(["add", id, "--", &command[0], &command[1]]);
    }

    /// Returns the command of a server that tells the time.
    pub(crate) fn clock(&self) -> [String; 2] {
        self.shell_server("clock.sh", CLOCK, TELL_TIME)
    }

    /// Returns the command of a server of notes, which has none of them.
    pub(crate) fn notes(&self) -> [String; 2] {
        self.shell_server("notes.sh", NOTES, FIND_NO_NOTE)
    }

    /// Returns the command of a server that counts its calls, and crashes on demand.
    pub(crate) fn counter(&self) -> [String; 2] {
        self.shell_server("counter.sh", COUNTER, COUNT)
    }

    fn shell_server(&self, file: &str, tools: &str, call: &str) -> [String; 2] {
        self.write(file, &shell_server(tools, call));
        ["sh".into(), self.path(file).display().to_string()]
    }
}

const CLOCK: &str = r#"[
    {"name":"now","description":"Tells the current date and time in UTC.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true}},
    {"name":"unix_time","description":"Tells the seconds since 1970.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true}},
    {"name":"time_between","description":"Tells how long it is from one time to another.","inputSchema":{"type":"object","properties":{"start":{"type":"integer","description":"Seconds since 1970 at which it begins."},"end":{"type":"integer","description":"Seconds since 1970 at which it ends."}},"required":["start","end"]},"annotations":{"readOnlyHint":true}},
    {"name":"wait","description":"Waits for some seconds, like a timer.","inputSchema":{"type":"object","properties":{"seconds":{"type":"integer","description":"How long to wait."}},"required":["seconds"]},"annotations":{"readOnlyHint":true}}
]"#;

/// The part of the clock that answers calls. A call of `wait` is answered when its time is over, and others before that.
const TELL_TIME: &str = r#"
      argument() { printf '%s' "$line" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
      case "$line" in
        *'"name":"now"'*) text=$(date -u +%Y-%m-%dT%H:%M:%SZ) ;;
        *'"name":"unix_time"'*) text=$(date +%s) ;;
        *'"name":"time_between"'*)
          seconds=$(($(argument end) - $(argument start)))
          text="$((seconds / 3600))h $((seconds / 60 % 60))m $((seconds % 60))s" ;;
        *'"name":"wait"'*)
          (sleep "$(argument seconds)"
           printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}\n' "$id") &
          continue ;;
      esac
      result='{"content":[{"type":"text","text":"'$text'"}]}'"#;

const NOTES: &str = r#"[
    {"name":"add_note","description":"Writes down a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What the note says."}},"required":["text"]}},
    {"name":"read_note","description":"Shows one note.","inputSchema":{"type":"object","properties":{"number":{"type":"integer","minimum":0,"description":"The number of the note."}},"required":["number"]},"annotations":{"readOnlyHint":true}},
    {"name":"remove_note","description":"Throws a note away.","inputSchema":{"type":"object","properties":{"number":{"type":"integer","minimum":0,"description":"The number of the note."}},"required":["number"]}},
    {"name":"search_notes","description":"Finds notes by a word.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"A word of the note."}},"required":["query"]},"annotations":{"readOnlyHint":true}},
    {"name":"list_notes","description":"Shows all notes.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true}}
]"#;

const FIND_NO_NOTE: &str = r#"
      case "$line" in
        *'"name":"add_note"'*) result='{"content":[{"type":"text","text":"note 1"}]}' ;;
        *'"name":"list_notes"'* | *'"name":"search_notes"'*) result='{"content":[{"type":"text","text":""}]}' ;;
        *) result='{"content":[{"type":"text","text":"there is no note"}],"isError":true}' ;;
      esac"#;

const COUNTER: &str = r#"[
    {"name":"count","description":"Counts the calls since the server started.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},
    {"name":"crash","description":"Shows a crash: the process ends at once, in error.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}
]"#;

const COUNT: &str = r#"
      case "$line" in *'"name":"crash"'*) kill -ABRT $$ ;; esac
      count=$((count + 1))
      result='{"content":[{"type":"text","text":"'$count'"}]}'"#;
