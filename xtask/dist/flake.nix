{
  description = "@description@";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      archives = {
@sources@      };
      package = system: archive:
        let pkgs = nixpkgs.legacyPackages.${system}; in
        pkgs.stdenvNoCC.mkDerivation {
          pname = "@system@";
          version = "@version@";
          src = archive;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          dontConfigure = true;
          dontBuild = true;
          installPhase = ''
            runHook preInstall
            install -Dm755 -t $out/bin mgp mgp-patterns
            installManPage man/*.1
            installShellCompletion --cmd mgp --bash completions/mgp.bash --fish completions/mgp.fish --zsh completions/_mgp
            runHook postInstall
          '';
          meta = {
            description = "@description@";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "mgp";
          };
        };
    in {
      packages = builtins.mapAttrs (system: archive: { default = package system archive; }) archives;
    };
}
