import AttoATT
import AttoFormats
import AttoGATT

extension ServerCase {
  /// The errors for missing security or authorization.
  private static let insufficient: [ErrorCode] = [
    .insufficientAuthentication, .insufficientAuthorization, .encryptionKeySizeTooShort,
    .insufficientEncryption,
  ]
  /// What a server may say of a value without a property.
  private static func refusals(_ code: ErrorCode) -> [ErrorCode] {
    [code, .requestNotSupported] + insufficient
  }
  private static let denied = Rule(
    "An attribute without a read permission is Read Not Permitted", "Vol 3, Part F, 3.2.5")

  /// Permissions. Vol 3, Part F, 3.2.5, and Part G, 3.3.1.1.
  static let permissions: [ServerCase] = [
    ServerCase(
      "permission/read", "values without Read cannot be read",
      "A value without the property Read cannot be read: Read Not Permitted",
      "Vol 3, Part G, 3.3.1.1, and Part F, 3.2.5"
    ) { bench in
      try bench.require(
        bench.known.layout == nil, orSkip: "the profile is known; see permission/profile")
      let hidden = bench.known.values.filter { !$0.isReadable }
      try bench.require(!hidden.isEmpty, orSkip: "all values are readable")
      for value in hidden {
        try await bench.expectError(
          refusals(.readNotPermitted), at: value.handle, to: [0x0A] + octets(value.handle))
      }
    },
    ServerCase(
      "permission/refused", "a value that cannot be read is refused to all requests",
      "Permissions are those of the attribute, whatever the request",
      "Vol 3, Part F, 3.2.5 and 3.4.4"
    ) { bench in
      let codes = refusals(.readNotPermitted)
      let hidden = bench.known.values.filter { value in
        if case .error(let code) = value.reading { codes.contains(code) } else { false }
      }
      try bench.require(!hidden.isEmpty, orSkip: "no value is refused")
      for value in hidden.prefix(12) {
        let handle = octets(value.handle)
        try await bench.expectError(codes, at: value.handle, to: [0x0C] + handle + [0, 0])
        try await bench.expectError(codes, at: value.handle, to: [0x0E] + handle + handle)
        try await bench.expectError(codes, at: value.handle, to: [0x20] + handle + handle)
        try await bench.expectError(
          codes, at: value.handle, to: [0x08] + handle + handle + value.uuid)
      }
    },
    ServerCase(
      "permission/profile", "permissions match the profile",
      "An attribute that requires security or authorization is refused without it",
      "Vol 3, Part F, 3.2.5, and Part C, 10.3.1"
    ) { bench in
      let layout = try bench.require(
        bench.known.layout, orSkip: "the server's profile is not known")
      for (handle, access) in layout.reads {
        for request in [[0x0A] + octets(handle), [0x0C] + octets(handle) + [0, 0]] {
          if access == .denied {
            try await bench.expectError(
              [.readNotPermitted, .requestNotSupported], at: handle, to: request, denied)
          } else if access != .open {
            try await bench.expectError(
              insufficient + [.requestNotSupported], at: handle, to: request)
          }
        }
      }
    },
    ServerCase(
      "permission/read-multiple", "values without Read cannot be read together with others",
      "Read Multiple is refused because of one unreadable value, with its handle",
      "Vol 3, Part F, 3.4.4.7 and 3.4.4.11"
    ) { bench in
      guard let hidden = bench.known.values.first(where: \.isRefused),
        let open = bench.known.readable.first
      else { throw CaseStop.skipped("all values are readable") }
      for opcode: UInt8 in [0x0E, 0x20] {
        try await bench.expectError(
          [], at: hidden.handle, to: [opcode] + octets(open.handle) + octets(hidden.handle))
      }
    },
    ServerCase(
      "permission/write-unknown", "unknown handles cannot be written",
      "A write to an unknown handle is refused with Invalid Handle", "Vol 3, Part F, 3.4.5.1"
    ) { bench in
      // Without the survey's result, a handle could be one that exists.
      for handle in [0, bench.known.unknownHandle].compactMap({ $0 }) {
        for request in [[0x12] + octets(handle) + [1], [0x16] + octets(handle) + [0, 0, 1]] {
          try await bench.expectError(
            [.invalidHandle, .requestNotSupported], at: handle, to: request)
        }
      }
    },
    ServerCase(
      "permission/write-declaration", "declarations cannot be written",
      "Declarations cannot be written", "Vol 3, Part G, 3.1 to 3.3", writes: true
    ) { bench in
      let handles = bench.known.groups.map(\.start) + bench.known.values.map(\.declaration)
      for handle in handles.prefix(40) {
        // Write the current value, so that a server that accepts it does not change.
        let now = try await bench.read(handle)
        try await bench.expectError(
          [], at: handle, to: [0x12] + octets(handle) + now.dropFirst().prefix(19))
      }
    },
    ServerCase(
      "permission/write", "values without Write cannot be written",
      "A value without the property Write cannot be written",
      "Vol 3, Part G, 3.3.1.1, and Part F, 3.2.5", writes: true
    ) { bench in
      var found = 0
      for value in bench.known.readable where value.properties & 0x4C == 0 {
        guard let current = value.octets, current.count < 20 else { continue }
        if let layout = bench.known.layout, layout.allowsWrites(value.handle) { continue }
        let handle = octets(value.handle)
        let codes = refusals(.writeNotPermitted)
        try await bench.expectError(codes, at: value.handle, to: [0x12] + handle + current)
        try await bench.expectError(
          codes, at: value.handle, to: [0x16] + handle + [0, 0] + current.prefix(18))
        found += 1
      }
      for value in bench.known.values
      where value.properties & 0x4E == 0 && bench.known.layout == nil {
        try await bench.expectError(
          refusals(.writeNotPermitted), at: value.handle, to: [0x12] + octets(value.handle) + [0])
        found += 1
      }
      try bench.require(found > 0, orSkip: "all values are writable")
    },
    ServerCase(
      "permission/write-descriptor", "some descriptors cannot be written",
      "Extended Properties, Presentation Format and Aggregate Format are read-only",
      "Vol 3, Part G, 3.3.3.1, 3.3.3.5 and 3.3.3.6", writes: true
    ) { bench in
      let handles = [0x2900, 0x2904, 0x2905].flatMap { bench.known.handles(of: $0) }
      try bench.require(!handles.isEmpty, orSkip: "the server has no such descriptor")
      for handle in handles.prefix(20) {
        let now = try await bench.read(handle)
        guard now[0] == 0x0B else { continue }
        try await bench.expectError(
          refusals(.writeNotPermitted), at: handle,
          to: [0x12] + octets(handle) + now.dropFirst().prefix(20))
      }
    },
    ServerCase(
      "permission/command", "values without Write cannot be written by commands",
      "A command to a value that cannot be written is ignored",
      "Vol 3, Part F, 3.4.5.3, and Part G, 3.3.1.1", writes: true
    ) { bench in
      var found = 0
      for value in bench.known.readable where value.properties & 0x4C == 0 {
        guard let current = value.octets, 1..<20 ~= current.count, found < 8,
          try await bench.read(value.handle) == [0x0B] + current
        else { continue }
        if let layout = bench.known.layout, layout.allowsWrites(value.handle) { continue }
        try await bench.expectQuiet(after: [[0x52] + octets(value.handle) + other(current)])
        let now = try await bench.read(value.handle)
        try bench.check(
          now != [0x0B] + other(current),
          "\(AttributeHandle(value.handle)) was written, although it lacks the property",
          expected: [0x0B] + current, got: now)
        found += 1
      }
      try bench.require(found > 0, orSkip: "no value can be read and not written")
    },
  ]
}

extension ProfileLayout {
  /// The conditions for reading values and descriptors, without those of values with a behaviour.
  fileprivate var reads: [(handle: UInt16, access: AttributePermissions.Access)] {
    let scripted = Set(behaviours.map(\.handle))
    var reads: [(UInt16, AttributePermissions.Access)] = []
    for characteristic in services.flatMap(\.characteristics) {
      if let handle = characteristic.valueHandle, !scripted.contains(handle) {
        reads.append((handle.rawValue, characteristic.permissions.read))
      }
      for descriptor in characteristic.descriptors {
        if let handle = descriptor.handle {
          reads.append((handle.rawValue, descriptor.permissions.read))
        }
      }
    }
    return reads
  }

  fileprivate func allowsWrites(_ handle: UInt16) -> Bool {
    services.flatMap(\.characteristics).contains {
      $0.valueHandle?.rawValue == handle && $0.permissions.write != .denied
    }
  }
}
