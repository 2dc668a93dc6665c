import ATT
import Files

extension ServerCase {
  /// What a server says for want of security or authorization.
  private static let insufficient: [ErrorCode] = [
    .insufficientAuthentication, .insufficientAuthorization, .encryptionKeySizeTooShort,
    .insufficientEncryption,
  ]

  /// Permissions. Vol 3, Part F, 3.2.5, and Part G, 3.3.1.1.
  static let permitted: [ServerCase] = [
    ServerCase("permission/read", "what may not be read cannot be") { bench throws(CaseStop) in
      let rule = Rule(
        "A value whose properties do not have Read cannot be read: Read Not Permitted",
        "Vol 3, Part G, 3.3.1.1, and Part F, 3.2.5")
      guard bench.known.layout == nil else {
        throw .skipped("the profile is known; see permission/profile")
      }
      var found = 0
      for value in bench.known.values where !value.isReadable {
        try await bench.expectError(
          [], at: value.handle, to: [0x0A] + octets(value.handle), rule)
        try await bench.expectError(
          [], at: nil,
          to: [0x08] + octets(value.handle) + octets(value.handle) + value.uuid, rule)
        found += 1
      }
      guard found > 0 else { throw .skipped("every value may be read") }
    },
    ServerCase("permission/profile", "permissions are those of the profile") {
      bench throws(CaseStop) in
      guard let layout = bench.known.layout else { throw .skipped("no --profile was given") }
      let denied = Rule("What nobody may read is Read Not Permitted", "Vol 3, Part F, 3.2.5")
      let secured = Rule(
        "What needs security or authorization is refused on a link without them",
        "Vol 3, Part F, 3.2.5, and Part C, 10.3.1")
      let conditions: Profile.Permissions = [
        .readEncrypted, .readAuthenticated, .readSecure, .readAuthorized,
      ]
      for attribute in layout.attributes {
        let handle = attribute.handle.rawValue
        guard let storage = attribute.content.storage else { continue }
        for request in [[0x0A] + octets(handle), [0x0C] + octets(handle) + [0, 0]] {
          if !storage.permissions.isReadable {
            try await bench.expectError(
              [.readNotPermitted, .requestNotSupported], at: handle, to: request, denied)
          } else if !storage.permissions.isDisjoint(with: conditions) {
            try await bench.expectError(
              insufficient + [.requestNotSupported], at: handle, to: request, secured)
          }
        }
      }
    },
    ServerCase("permission/read-multiple", "nor together with others") { bench throws(CaseStop) in
      let rule = Rule(
        "One value that cannot be read refuses a Read Multiple, and is named",
        "Vol 3, Part F, 3.4.4.7 and 3.4.4.11")
      let hidden = bench.known.values.first { value in
        if case .error = value.reading { true } else { false }
      }
      guard let hidden, let open = bench.known.readable.first else {
        throw .skipped("no value refuses to be read")
      }
      for opcode: UInt8 in [0x0E, 0x20] {
        try await bench.expectError(
          [], at: hidden.handle, to: [opcode] + octets(open.handle) + octets(hidden.handle), rule)
      }
    },
    ServerCase("permission/write-unknown", "nothing is written where nothing is") {
      bench throws(CaseStop) in
      let rule = Rule(
        "A write to a handle of no attribute is an Invalid Handle", "Vol 3, Part F, 3.4.5.1")
      for handle in [0, bench.known.unknownHandle].compactMap({ $0 }) {
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle, to: [0x12] + octets(handle) + [1],
          rule)
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle,
          to: [0x16] + octets(handle) + [0, 0, 1], rule)
      }
    },
    ServerCase("permission/write-declaration", "declarations cannot be written", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule("Declarations cannot be written", "Vol 3, Part G, 3.1 to 3.3")
      for handle in (bench.known.groups.map(\.start) + bench.known.values.map(\.declaration))
        .prefix(40)
      {
        // What is there already: a server that takes it is not harmed.
        let now = try await bench.ask([0x0A] + octets(handle))
        try await bench.expectError(
          [], at: handle, to: [0x12] + octets(handle) + now.dropFirst().prefix(19), rule)
      }
    },
    ServerCase("permission/write", "what may not be written cannot be", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "A value whose properties do not have Write cannot be written",
        "Vol 3, Part G, 3.3.1.1, and Part F, 3.2.5")
      var found = 0
      for value in bench.known.readable where value.properties & 0x4C == 0 {
        guard let octets = value.octets, octets.count < 20 else { continue }
        if let layout = bench.known.layout, layout.allowsWrites(value.handle) { continue }
        try await bench.expectError(
          [], at: value.handle, to: [0x12] + Conformance.octets(value.handle) + octets, rule)
        try await bench.expectError(
          [], at: value.handle,
          to: [0x16] + Conformance.octets(value.handle) + [0, 0] + octets.prefix(18), rule)
        found += 1
      }
      guard found > 0 else { throw .skipped("every value may be written") }
    },
  ]
}

extension ProfileLayout.Content {
  /// What is kept of a value or descriptor whose reads are the database's own.
  fileprivate var storage: ProfileLayout.Storage? {
    switch self {
    case .value(let storage, let behaviour, _): behaviour == nil ? storage : nil
    case .descriptor(let storage), .clientConfiguration(let storage): storage
    case .service, .include, .characteristic: nil
    }
  }
}

extension ProfileLayout {
  fileprivate func allowsWrites(_ handle: UInt16) -> Bool {
    attributes.contains {
      guard $0.handle.rawValue == handle, case .value(let storage, _, _) = $0.content else {
        return false
      }
      return storage.permissions.isWritable
    }
  }
}
