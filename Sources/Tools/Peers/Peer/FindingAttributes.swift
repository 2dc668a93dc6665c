import Atto
import AttoCommandLine
import AttoFormats
import AttoGATT

extension ConnectedPeer {
  /// Finds the attribute that a reference means. A handle needs no request. A characteristic's UUID needs
  /// the declarations of all characteristics; anything else discovers the whole database.
  ///
  /// - Throws: ``ReferenceFailure`` if the peer has no such attribute, or several.
  package func find(_ reference: AttributeReference) async throws -> FoundAttribute {
    if let handle = reference.handle {
      noteIfUUID(reference)
      return FoundAttribute(handle: handle, uuid: nil)
    }
    var found: [FoundAttribute] = []
    if case .uuid(let uuid) = reference.attribute, reference.owners.isEmpty,
      AssignedNumbers.name(of: uuid, as: .descriptor) == nil
    {
      found = try await connection.perform(DiscoverCharacteristicsByUUID(uuid, in: .all))
        .map { FoundAttribute($0) }
      // A short UUID without a name as a descriptor is a characteristic's.
      if found.isEmpty, uuid.short == nil {
        found = reference.matches(in: try await connection.discover())
      }
    } else {
      found = reference.matches(in: try await connection.discover())
    }
    guard let first = found.first else { throw ReferenceFailure(none: reference) }
    guard found.count == 1 else { throw ReferenceFailure(several: found, reference) }
    return first
  }

  /// The type of an attribute that was given by its handle; nil if the peer does not tell it.
  package func type(of handle: AttributeHandle) async throws -> BluetoothUUID? {
    guard let range = HandleRange(handle, handle) else { return nil }
    do throws(AttoError) {
      return try await connection.perform(DiscoverDescriptors(in: range)).first?.uuid
    } catch {
      guard case .refused = error else { throw error }
      return nil
    }
  }

  private func noteIfUUID(_ reference: AttributeReference) {
    let text = reference.text
    guard text.utf8.count == 4, let handle = reference.handle, let uuid = BluetoothUUID(text),
      AssignedNumbers.Kind.allCases.contains(where: {
        AssignedNumbers.name(of: uuid, as: $0) != nil
      })
    else { return }
    Terminal.note(
      "note: \(text) is the handle \(handle); for \(Shown.named(attribute: uuid)), give uuid:\(text)"
    )
  }
}

extension ReferenceFailure {
  fileprivate init(none reference: AttributeReference) {
    self.init(isMissing: true, message: "the peer has no attribute \(Self.name(reference))")
  }

  fileprivate init(several found: [FoundAttribute], _ reference: AttributeReference) {
    let handles = found.prefix(20).map { "\($0.handle)" }
    self.init(
      isMissing: false,
      message: "the peer has \(found.count) attributes \(Self.name(reference)): "
        + handles.joined(separator: ", ") + (found.count > 20 ? ", ..." : ""),
      hint: reference.owners.isEmpty
        ? "give one of the handles, or the service: \(reference.text)@SERVICE"
        : "give one of the handles")
  }

  private static func name(_ reference: AttributeReference) -> String {
    if reference.owners.isEmpty, case .uuid(let uuid) = reference.attribute {
      Shown.named(attribute: uuid)
    } else {
      "\"\(reference.text)\""
    }
  }
}
