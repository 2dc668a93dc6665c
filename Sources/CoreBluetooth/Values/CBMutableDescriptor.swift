import Foundation

/// A descriptor of our own: Characteristic User Description (2901, a String) or Presentation
/// Format (2904, Data). All others come by themselves or are not allowed.
open class CBMutableDescriptor: CBDescriptor {
  /// Traps for a type other than 2901 and 2904, and for a value that is not of the type's form,
  /// where Apple's raises an exception.
  public init(type UUID: CBUUID, value: Any?) {
    guard ["2901", "2904"].contains(UUID.uuidString) else {
      preconditionFailure(
        "a descriptor \(UUID.uuidString) cannot be published: only 2901 and 2904 can; 2900 and"
          + " 2902 come by themselves")
    }
    guard let value else {
      super.init(type: UUID)
      return
    }
    guard let octets = DescriptorValue.octets(value, as: UUID) else {
      preconditionFailure(
        "the value of a descriptor \(UUID.uuidString) must be "
          + (UUID.uuidString == "2901" ? "a String" : "Data") + ", not \(Swift.type(of: value))")
    }
    super.init(type: UUID, octets: octets)
  }
}
