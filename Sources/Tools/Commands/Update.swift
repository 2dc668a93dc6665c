import Atto
import AttoCommandLine
import AttoPeers
import AttoSMP
import AttoText

/// `atto update`: new firmware for a device with MCUmgr and MCUboot.
package struct UpdateCommand: Command {
  private static let image = Option.integer(
    "image", "N", in: 0...15, default: 0, "The number of the image, on devices with several.")
  private static let onlyUpgrade = Option.flag(
    "only-upgrade", "Let the device refuse an image that is not newer than its own.")
  private static let onlyUpload = Option.flag(
    "only-upload", "Upload the image and do not start it.")
  private static let onlyTest = Option.flag(
    "only-test", "Start the image without confirming it: the device goes back at its next start.")
  private static let attempts = Option.integer(
    "attempts", "N", in: 1...1000, default: 10, "How often to connect before the upload fails.")
  private static let message = Option.integer(
    "message", "OCTETS", in: 64...4096, "The longest request (default: what the device says).")
  private static let window = Option.integer(
    "window", "N", in: 1...8,
    "Requests that wait for their responses at a time (default: what the device says).")

  package static let description = CommandDescription(
    "update", "Update the firmware of a device with MCUmgr.", synopsis: ["ENDPOINT FILE [OPTIONS]"],
    arguments: [
      .endpoint, ArgumentDescription(name: "FILE", summary: "The signed image.", kind: .file),
    ],
    details: """
      FILE is an image that is signed for MCUboot, such as zephyr.signed.bin. The command uploads it over the
      SMP service, lets the device start it once, connects again, and confirms the image if it runs. Otherwise
      the device goes back to its old image. An upload that breaks off goes on where it was, in the same
      command or in the next one. An image that the device has already is not uploaded again.
      """,
    options: [image, onlyUpgrade, onlyUpload, onlyTest, attempts, message, window],
    groups: Connecting.options, timeLimit: .open,
    examples: [
      "atto update le:AA:BB:CC:DD:EE:FF app.signed.bin --security medium",
      "atto update le:AA:BB:CC:DD:EE:FF app.signed.bin --only-upload",
    ])

  /// A value of 512 octets, the longest, and its opcode and handle.
  private static let mtu = 515
  /// The pause before another attempt, and before a device that starts is looked for.
  private static let pause: Duration = .seconds(1)

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try await Run(arguments, on: loop).run()
  }

  /// One run of the command.
  private final class Run {
    private let connecting: Connecting
    private let arguments: Arguments
    private let loop: Loop
    private let results: Results
    private let update: FirmwareUpdate
    private let progress: ProgressLine
    private var attempts: Int
    private var image: FirmwareImage { update.image }

    init(_ arguments: Arguments, on loop: Loop) throws {
      connecting = try Connecting(arguments, mtu: UpdateCommand.mtu)
      var update = FirmwareUpdate(try Self.image(try arguments.operand(0, "FILE")))
      update.number = arguments[UpdateCommand.image]
      update.onlyUpgrade = arguments[onlyUpgrade]
      update.longestMessage = arguments[message]
      update.window = arguments[window]
      self.update = update
      (self.arguments, self.loop) = (arguments, loop)
      results = Results(arguments)
      progress = ProgressLine(arguments)
      attempts = arguments[UpdateCommand.attempts]
    }

    private static func image(_ path: String) throws(UsageError) -> FirmwareImage {
      let octets: [UInt8]
      do throws(FileBytes.Failure) {
        octets = try FileBytes.read(path)
      } catch {
        throw UsageError("cannot read \(path): \(error.reason)")
      }
      do throws(FirmwareImage.Fault) {
        return try FirmwareImage(octets)
      } catch {
        throw UsageError("\(path): \(error)")
      }
    }

    func run() async throws {
      let update = update
      switch try await again({ try await update.upload(over: $0, self.report) }) {
      case .running: return report("running", "the device runs version \(image.version) already")
      case .present: report("present", "the device has version \(image.version) already")
      case .now:
        progress.clear()
        report("uploaded", "uploaded version \(image.version): \(image.octets.count) octets")
      }
      guard !arguments[onlyUpload] else { return }
      try await again { try await update.start(over: $0) }
      report("started", "the device starts version \(image.version)")
      let keeps = !arguments[onlyTest]
      let isConfirmed = try await again { try await update.confirm(over: $0, keeps: keeps) }
      report(
        isConfirmed ? "confirmed" : "tested",
        isConfirmed
          ? "version \(image.version) runs, and is confirmed"
          : "version \(image.version) runs: at its next start, the device goes back to the old one")
    }

    private func report(_ event: FirmwareUpdate.Event) async {
      switch event {
      case .runs(let version): Terminal.note("the device runs version \(version)")
      case .resumes(let offset):
        Terminal.note("the device has \(offset) octets of an earlier upload")
      case .progress(let offset):
        progress.show(offset, of: image.octets.count, "octets")
        if results.isJSON {
          results.print(json: ["event": "progress", "offset": offset, "size": image.octets.count])
        }
        await Terminal.room()
      }
    }

    private func report(_ event: String, _ text: String) {
      results.print(
        text,
        json: ["event": event, "version": image.version.description, "hash": Shown.hex(image.hash)])
    }

    /// Connects and does something, again if the connection fails or breaks off.
    private func again<Value: Sendable>(
      _ body: @escaping (SMPClient) async throws -> Value
    ) async throws -> Value {
      while true {
        do {
          return try await connecting.use(on: loop) {
            try await body(SMPClient(try await ConnectionCarrier($0)))
          }
        } catch {
          attempts -= 1
          guard attempts > 0, FirmwareUpdate.isPassing(error) else { throw Self.told(error) }
          Terminal.note("\(ExitStatus(error).message): connecting again")
          try await loop.sleep(for: pause)
        }
      }
    }

    /// What a device has answered, with the exit status for it.
    private static func told(_ error: any Error) -> any Error {
      switch error {
      case SMPClient.Fault.noResponse: OutOfTime(message: "\(error)")
      case let fault as FirmwareUpdate.Fault: CheckFailure(message: "\(fault)", hint: fault.hint)
      case is SMPClient.Fault, is FirmwareUpload.Fault, is SMPRefusal:
        CheckFailure(message: "\(error)")
      default: error
      }
    }
  }
}
