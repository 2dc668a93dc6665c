import AttoGATT

extension AttributePermissions {
  /// The conditions that words of profile files state, after `read` or `write`.
  private static let conditions: [(word: String, requirement: Requirement)] = [
    ("", Requirement()), ("Encrypted", Requirement(security: .medium)),
    ("Authenticated", Requirement(security: .high)), ("Secure", Requirement(security: .fips)),
    ("Authorized", Requirement(authorization: true)),
  ]

  /// The words of profile files.
  static let words = conditions.flatMap { ["read" + $0.word, "write" + $0.word] }

  /// Permissions stated by some ``words``. Several conditions of one direction apply together.
  init(words: [String]) {
    self.init()
    for (word, requirement) in Self.conditions {
      if words.contains("read" + word) { read.add(requirement) }
      if words.contains("write" + word) { write.add(requirement) }
    }
  }

  /// Requires keys of at least this size where encryption is required. Returns false if it is not
  /// required anywhere.
  mutating func require(keySize: UInt8) -> Bool {
    let isRead = read.require(keySize: keySize)
    let isWrite = write.require(keySize: keySize)
    return isRead || isWrite
  }
}

extension AttributePermissions.Access {
  fileprivate mutating func add(_ requirement: AttributePermissions.Requirement) {
    var sum = requirement
    if case .requires(let former) = self {
      sum.security = max(sum.security, former.security)
      sum.authorization = sum.authorization || former.authorization
    }
    self = .requires(sum)
  }

  fileprivate mutating func require(keySize: UInt8) -> Bool {
    guard case .requires(var requirement) = self, requirement.security > .low else { return false }
    requirement.keySize = keySize
    self = .requires(requirement)
    return true
  }
}
