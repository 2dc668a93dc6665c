import Atto
import AttoCommandLine

/// `atto completion`: the completion of command lines in shells.
enum CompletionCommand: Command {
  static let description = CommandDescription(
    "completion", "Print a script that completes command lines in a shell.",
    synopsis: ["bash | zsh | fish"],
    arguments: [
      ArgumentDescription(
        name: "SHELL", summary: "The shell: bash, zsh or fish.",
        kind: .words { ["bash", "zsh", "fish"] })
    ],
    details: """
      The script completes commands, options, values, files, radios on the virtual air (air:) and sockets
      (unix:). It asks the atto in the path for them. To install it for yourself:

        atto completion bash > ~/.local/share/bash-completion/completions/atto
        atto completion zsh > DIRECTORY/_atto, where DIRECTORY is listed in $fpath
        atto completion fish > ~/.config/fish/completions/atto.fish
      """,
    examples: [#"eval "$(atto completion bash)""#, "atto completion fish | source"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let shell = try arguments.word(0, "SHELL")
    guard let script = CompletionScript(rawValue: shell) else {
      let shells = CompletionScript.allCases.map(\.rawValue)
      throw UsageError(
        "unknown shell \"\(shell)\": expected \(shells.alternatives)",
        hint: Suggestion.hint(for: shell, among: shells))
    }
    Terminal.print(ownText: script.text)
  }
}
