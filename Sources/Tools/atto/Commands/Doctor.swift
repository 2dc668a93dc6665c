import Atto
import AttoCommandLine
import AttoDiagnosis

/// `atto doctor`: Bluetooth problems of this machine.
enum DoctorCommand: Command {
  static let description = CommandDescription(
    "doctor", "Diagnose Bluetooth problems on this machine.", synopsis: ["[OPTIONS]"],
    details: """
      The command checks the kernel, the adapters, permissions, other programs that use Bluetooth, the
      virtual air and SQLite. It distinguishes a kernel without Bluetooth from a module that is not
      loaded, a container's network namespace and a system call filter, which look alike to a program.
      It prints one line per check:

        ok       no problem
        warn     works with restrictions, or another program may interfere
        problem  some of atto's commands will fail

      The exit status is 0 without problems, and 4 with one or more.
      """,
    options: [CommonOptions.json], examples: ["atto doctor"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let diagnosis = await Diagnosis.examine(loop: loop)
    let results = Results(arguments)
    let width = Diagnosis.names.map(\.count).max() ?? 0
    for check in diagnosis.checks {
      results.print(
        check.mark.rawValue.padded(to: 9) + check.name.padded(to: width + 2)
          + (check.adapter.map { "\($0): " } ?? "") + check.text,
        json: [
          "check": check.name, "adapter": check.adapter, "mark": check.mark.rawValue,
          "text": check.text, "remedy": check.remedy,
        ])
      if !results.isJSON, let remedy = check.remedy { Terminal.print("  fix: \(remedy)") }
    }
    let count = diagnosis.checks.count { $0.mark == .problem }
    guard count == 0 else {
      throw CheckFailure(message: "found \(Shown.count(count, "problem"))")
    }
  }
}
