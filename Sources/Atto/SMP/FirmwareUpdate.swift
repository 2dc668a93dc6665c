import Atto

/// An update of a device's firmware, step by step.
///
/// # Theory
/// Three steps follow each other: ``upload(over:_:)``, ``start(over:)`` and
/// ``confirm(over:)``. Each looks first what the device has, and does only what is left. So a step whose
/// link broke, or whose program was killed, is carried out again over another link; and an update that is
/// asked for twice does nothing the second time.
package struct FirmwareUpdate: Sendable {
  package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The device had the image and has it no longer.
    case lost
    /// The device has not been reset yet.
    case notRestarted
    /// The device runs this version instead.
    case notStarted(String, runs: String)

    package var description: String {
      switch self {
      case .lost: "the device has lost the image"
      case .notRestarted: "the device has not restarted yet"
      case .notStarted(let version, let running):
        "the device has not started version \(version): it runs \(running)"
      }
    }

    /// What to look at; nil: nothing.
    package var hint: String? {
      switch self {
      case .lost: "its flash may be worn, or another program updates it too"
      case .notRestarted: nil
      case .notStarted:
        "its boot loader has refused the image (is it signed with the device's key?), or has gone back"
      }
    }
  }

  /// What became of the upload.
  package enum Uploaded: Hashable, Sendable {
    /// The device runs the image already.
    case running
    /// The device had the image already.
    case present
    case now
  }

  package enum Event: Hashable, Sendable {
    /// The version that the device runs before the update.
    case runs(version: String)
    /// The device has this much of an upload that broke off.
    case resumes(offset: Int)
    /// The device has this much.
    case progress(offset: Int)
  }

  package let image: FirmwareImage
  /// The number of the image, on devices with several.
  package var number = 0
  /// Whether the device is to refuse an image that is not newer than its own.
  package var onlyUpgrade = false
  /// The longest request in octets; nil: what the device says.
  package var longestMessage: Int?
  /// Requests that wait for their responses at a time; nil: what the device says.
  package var window: Int?

  package init(_ image: FirmwareImage) { self.image = image }

  /// Whether a step may succeed over another link.
  package static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as AttoError: error.isRetryable
    case SMPClient.Fault.noResponse, Fault.notRestarted: true
    default: false
    }
  }

  /// Uploads the image if the device does not have it.
  ///
  /// - Throws: what `SMPClient.upload` throws.
  package nonisolated(nonsending) func upload(
    over client: SMPClient, _ report: nonisolated(nonsending) (Event) async -> Void
  ) async throws -> Uploaded {
    let slots = try await client.slots(of: number)
    if let slot = slots.first(where: { $0.hash == image.hash }) {
      return slot.isActive ? .running : .present
    }
    if let running = slots.first(where: \.isActive) {
      await report(.runs(version: running.version))
    }
    let limits = try await client.limits()
    var options = FirmwareUpload.Options(longestMessage: longestMessage ?? limits.message)
    options.image = number
    options.onlyUpgrade = onlyUpgrade
    options.window = window ?? limits.window
    var isFirst = true
    try await client.upload(image, options) { offset in
      if isFirst, offset > options.longestMessage { await report(.resumes(offset: offset)) }
      isFirst = false
      await report(.progress(offset: offset))
    }
    return .now
  }

  /// Marks the image for one start, and resets the device.
  ///
  /// - Throws: ``Fault/lost``, and what `SMPClient` throws.
  package nonisolated(nonsending) func start(over client: SMPClient) async throws {
    guard let slot = try await client.slots(of: number).first(where: { $0.hash == image.hash })
    else { throw Fault.lost }
    guard !slot.isActive else { return }
    if !slot.isPending { try await client.test(image.hash) }
    try await client.reset()
  }

  /// Has the device stay with the image that it has started.
  ///
  /// - Parameter keeps: false: only looks whether the image runs.
  /// - Returns: whether the image is confirmed.
  /// - Throws: ``Fault/notRestarted``, ``Fault/notStarted(_:runs:)``, and what `SMPClient` throws.
  package nonisolated(nonsending) func confirm(over client: SMPClient, keeps: Bool = true)
    async throws -> Bool
  {
    let slots = try await client.slots(of: number)
    let ours = slots.filter { $0.hash == image.hash }
    guard let own = ours.first, own.isActive else {
      if ours.contains(where: \.isPending) { throw Fault.notRestarted }
      let running = slots.first(where: \.isActive)?.version ?? "unknown"
      throw Fault.notStarted(image.version.description, runs: running)
    }
    if own.isConfirmed { return true }
    guard keeps else { return false }
    try await client.confirm()
    return true
  }
}
