class @class@ < Formula
  desc "@description@"
  version "@version@"
  license any_of: ["MIT", "Apache-2.0"]

@sources@
  def install
    bin.install "mgp", "mgp-patterns"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/mgp.bash" => "mgp"
    fish_completion.install "completions/mgp.fish"
    zsh_completion.install "completions/_mgp"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mgp --version")
    system bin/"mgp", "demo"
  end
end
