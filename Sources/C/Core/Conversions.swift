import CAtto

// Numbers and structures of atto.h, and those of the core. The C part of the library has checked
// all pointers and lengths before a function of this folder is called.

/// The core's results in the numbers of atto.h.
enum Code {
  static let ok: Int32 = 0

  static func of(_ error: DatabaseError) -> Int32 {
    switch error {
    case .valueTooLong, .wrongLength: Int32(ATTO_ERR_LENGTH)
    case .noSuchService, .noSuchValue: Int32(ATTO_ERR_NOT_FOUND)
    case .included: Int32(ATTO_ERR_STATE)
    default: Int32(ATTO_ERR_DATABASE)
    }
  }

  static func of(_ error: ProcedureError) -> Int32 {
    switch error {
    case .refused: Int32(ATTO_ERR_ATT)
    case .violation: Int32(ATTO_ERR_PROTOCOL)
    case .limit: Int32(ATTO_ERR_LIMIT)
    case .misuse(let misuse): of(misuse)
    case .bearer(let failure), .enhancedBearer(let failure): of(failure)
    case .cancelled: Int32(ATTO_ERR_CANCELLED)
    }
  }

  static func of(_ failure: BearerFailure) -> Int32 {
    switch failure {
    case .transactionTimeout: Int32(ATTO_ERR_TIMEOUT)
    case .linkEnded: Int32(ATTO_ERR_FAILED)
    default: Int32(ATTO_ERR_PROTOCOL)
    }
  }

  private static func of(_ misuse: Misuse) -> Int32 {
    switch misuse {
    case .valueTooLong: Int32(ATTO_ERR_LENGTH)
    case .mtuOutOfRange, .handleCount: Int32(ATTO_ERR_ARGUMENT)
    case .tooManyProcedures, .tooManyIndications: Int32(ATTO_ERR_LIMIT)
    case .cannotSubscribe: Int32(ATTO_ERR_NOT_FOUND)
    default: Int32(ATTO_ERR_STATE)
    }
  }
}

extension BluetoothUUID {
  init(_ uuid: atto_uuid) { self.init(high: uuid.high, low: uuid.low) }
}

extension atto_uuid {
  init(_ uuid: BluetoothUUID) { self.init(high: uuid.high, low: uuid.low) }
}

/// A copy of a C caller's octets.
func octets(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8] {
  unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
}

/// A C caller's handles.
func handles(_ start: UnsafePointer<UInt16>, _ count: Int) -> [AttributeHandle] {
  unsafe UnsafeBufferPointer(start: start, count: count).map { AttributeHandle($0) }
}

extension AttributePermissions {
  /// The permissions of atto.h, with a shortest key.
  init(bits: Int, keySize: UInt8) {
    func access(_ any: Int, _ levels: [(Int, SecurityLevel)], authorized: Int) -> Access {
      let all = levels.reduce(any | authorized) { $0 | $1.0 }
      guard bits & all != 0 else { return .denied }
      var requirement = Requirement(keySize: keySize, authorization: bits & authorized != 0)
      for (bit, level) in levels where bits & bit != 0 { requirement.security = level }
      return .requires(requirement)
    }
    self.init(
      read: access(
        ATTO_MAY_READ,
        [
          (ATTO_READ_ENCRYPTED, .medium), (ATTO_READ_AUTHENTICATED, .high),
          (ATTO_READ_SECURE, .fips),
        ], authorized: ATTO_READ_AUTHORIZED),
      write: access(
        ATTO_MAY_WRITE,
        [
          (ATTO_WRITE_ENCRYPTED, .medium), (ATTO_WRITE_AUTHENTICATED, .high),
          (ATTO_WRITE_SECURE, .fips),
        ], authorized: ATTO_WRITE_AUTHORIZED))
  }
}
