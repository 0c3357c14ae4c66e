//! What keeps plugins installed, healthy and in order.
