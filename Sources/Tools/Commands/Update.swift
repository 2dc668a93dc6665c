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
    try await FirmwareUpdate(arguments, on: loop).run()
  }

  /// One run of the command.
  private final class FirmwareUpdate {
    private let connecting: Connecting
    private let arguments: Arguments
    private let loop: Loop
    private let results: Results
    private let image: FirmwareImage
    private let progress: ProgressLine
    private var attempts: Int

    init(_ arguments: Arguments, on loop: Loop) throws {
      connecting = try Connecting(arguments, mtu: UpdateCommand.mtu)
      image = try Self.image(try arguments.operand(0, "FILE"))
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
      switch try await again({ try await self.upload(over: $0) }) {
      case .running: return report("running", "the device runs version \(image.version) already")
      case .present: report("present", "the device has version \(image.version) already")
      case .uploaded:
        report("uploaded", "uploaded version \(image.version): \(image.octets.count) octets")
      }
      guard !arguments[onlyUpload] else { return }
      try await again { try await self.start(over: $0) }
      report("started", "the device starts version \(image.version)")
      let isConfirmed = try await again { try await self.confirm(over: $0) }
      report(
        isConfirmed ? "confirmed" : "tested",
        isConfirmed
          ? "version \(image.version) runs, and is confirmed"
          : "version \(image.version) runs: at its next start, the device goes back to the old one")
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
          return try await connecting.use(on: loop) { try await body(try await SMPClient(on: $0)) }
        } catch {
          attempts -= 1
          guard attempts > 0, isPassing(error) else { throw Self.told(error) }
          Terminal.note("\(ExitStatus(error).message): connecting again")
          try await loop.sleep(for: pause)
        }
      }
    }

    private func isPassing(_ error: any Error) -> Bool {
      switch error {
      case let error as AttoError: error.isRetryable
      case SMPClient.Fault.noResponse, is NotStarted: true
      default: false
      }
    }

    /// What a device has answered, with the exit status for it.
    private static func told(_ error: any Error) -> any Error {
      switch error {
      case SMPClient.Fault.noResponse: OutOfTime(message: "\(error)")
      case is SMPClient.Fault, is FirmwareUpload.Fault, is SMPRefusal:
        CheckFailure(message: "\(error)")
      default: error
      }
    }

    // MARK: Steps

    private enum Found {
      case running
      case present
      case uploaded
    }

    private func upload(over client: SMPClient) async throws -> Found {
      let slots = try await client.slots(of: arguments[UpdateCommand.image])
      if let slot = slots.first(where: { $0.hash == image.hash }) {
        return slot.isActive ? .running : .present
      }
      if let running = slots.first(where: \.isActive) {
        Terminal.note("the device runs version \(running.version)")
      }
      let limits = try await client.limits()
      var options = FirmwareUpload.Options(longestMessage: arguments[message] ?? limits.message)
      options.image = arguments[UpdateCommand.image]
      options.onlyUpgrade = arguments[onlyUpgrade]
      options.window = arguments[window] ?? limits.window
      var isFirst = true
      try await client.upload(image, options) { offset in
        if isFirst, offset > options.longestMessage {
          Terminal.note("the device has \(offset) octets of an earlier upload")
        }
        isFirst = false
        progress.show(offset, of: image.octets.count, "octets")
        if results.isJSON {
          results.print(json: ["event": "progress", "offset": offset, "size": image.octets.count])
        }
        await Terminal.room()
      }
      progress.clear()
      return .uploaded
    }

    /// Marks the image for one start, and resets the device. Does not repeat what is done already.
    private func start(over client: SMPClient) async throws {
      let slot = try await client.slots(of: arguments[UpdateCommand.image]).first {
        $0.hash == image.hash
      }
      guard let slot else {
        throw CheckFailure(
          message: "the device has lost the image",
          hint: "its flash may be worn, or another program updates it too")
      }
      guard !slot.isActive else { return }
      if !slot.isPending { try await client.test(image.hash) }
      try await client.reset()
    }

    /// Returns whether the image is confirmed.
    private func confirm(over client: SMPClient) async throws -> Bool {
      let slots = try await client.slots(of: arguments[UpdateCommand.image])
      let ours = slots.filter { $0.hash == image.hash }
      guard let own = ours.first, own.isActive else {
        if ours.contains(where: \.isPending) { throw NotStarted() }
        let running = slots.first(where: \.isActive)?.version ?? "unknown"
        throw CheckFailure(
          message: "the device has not started version \(image.version): it runs \(running)",
          hint:
            "its boot loader has refused the image (is it signed with the device's key?), or has gone back"
        )
      }
      if own.isConfirmed { return true }
      guard !arguments[onlyTest] else { return false }
      try await client.confirm()
      return true
    }
  }
}

/// The device has not been reset yet.
private struct NotStarted: Error, CustomStringConvertible {
  var description: String { "the device has not restarted yet" }
}
