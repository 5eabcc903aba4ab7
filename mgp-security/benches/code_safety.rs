//! How long it takes to check code.

use divan::Bencher;
use mgp_security::code_safety::{CodePolicy, scan};
use mgp_types::mgp::{CodeSafety, SafetyLevel};

fn main() {
    divan::main();
}

/// Ten thousand bytes of ordinary code, the most that strict accepts by default.
#[divan::bench(args = ["python", "javascript", "typescript", "bash", "ruby"])]
fn ten_kilobytes(bencher: Bencher<'_, '_>, language: &str) {
    let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::Readonly).with_language(language));
    let piece = match language {
        "python" => PYTHON,
        "bash" => BASH,
        "ruby" => RUBY,
        _ => JAVASCRIPT,
    };
    let code = piece.repeat(10_000 / piece.len());
    scan(&code, &policy).expect("the code is harmless");
    bencher.counter(divan::counter::BytesCount::of_str(&code)).bench(|| scan(&code, &policy));
}

const PYTHON: &str = r#"
import json
from datetime import datetime

async def fetch(client, city: str) -> dict:
    """Reads the weather of a city."""
    response = await client.get(f"https://example.com/{city}", params={"units": "metric"})
    data = json.loads(response.text)
    values = [float(hour["t"]) for hour in data.get("hours", []) if hour["t"] is not None]
    return {"city": city, "mean": sum(values) / max(len(values), 1), "at": datetime.now().isoformat()}
"#;
const JAVASCRIPT: &str = r#"
export async function fetchCity(client, city) {
  const response = await client.get(`https://example.com/${city}`, { units: "metric" });
  const hours = (response.data.hours || []).filter((hour) => hour.t !== null).map((hour) => Number(hour.t));
  const mean = hours.reduce((sum, value) => sum + value, 0) / Math.max(hours.length, 1);
  return { city, mean, at: new Date().toISOString(), tags: hours.length > 3 ? ["long"] : [] };
}
"#;
const BASH: &str = "
grep -c name data.txt | sort | head -n 1
ls | wc -l
";
const RUBY: &str = r#"
def mean(values)
  # The mean of a list.
  total = values.reduce(0) { |sum, value| sum + value }
  "mean: #{total / [values.length, 1].max}"
end
"#;
