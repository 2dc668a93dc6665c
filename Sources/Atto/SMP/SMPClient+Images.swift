import Atto

/// A place for an image in a device, with the image in it.
package struct FirmwareSlot: Hashable, Sendable {
  package var version: String
  package var hash: [UInt8]
  /// Whether the device runs it.
  package var isActive: Bool
  /// Whether the device starts it next.
  package var isPending: Bool
  /// Whether the device stays with it.
  package var isConfirmed: Bool
}

extension SMPClient {
  /// The images of the device with this number.
  ///
  /// - Throws: ``Fault/malformedResponse``, and what ``request(_:_:_:)`` throws.
  package nonisolated(nonsending) func slots(of image: Int) async throws -> [FirmwareSlot] {
    guard let listed = try await request(.read, .images)["images"]?.array else {
      throw Fault.malformedResponse
    }
    return try listed.filter { ($0["image"]?.integer ?? 0) == image }.map { slot in
      guard let version = slot["version"]?.text, let hash = slot["hash"]?.octets else {
        throw Fault.malformedResponse
      }
      return FirmwareSlot(
        version: version, hash: hash, isActive: slot["active"]?.boolean ?? false,
        isPending: slot["pending"]?.boolean ?? false,
        isConfirmed: slot["confirmed"]?.boolean ?? false)
    }
  }

  /// Lets the device start the image with this hash once.
  package nonisolated(nonsending) func test(_ hash: [UInt8]) async throws {
    _ = try await request(
      .write, .images, .map(["hash": .octets(hash), "confirm": .boolean(false)]))
  }

  /// Lets the device stay with the image that runs.
  package nonisolated(nonsending) func confirm() async throws {
    _ = try await request(.write, .images, .map(["confirm": .boolean(true)]))
  }

  /// Restarts the device. It may do so before its response is sent.
  ///
  /// - Throws: `SMPRefusal`.
  package nonisolated(nonsending) func reset() async throws {
    do {
      _ = try await request(.write, .reset)
    } catch is AttoError {}
  }
}
