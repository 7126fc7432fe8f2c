//! What a user writes: the Cluster objects, their validation and the model that comes out.
